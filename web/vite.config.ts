import { defineConfig } from "vite";

// Fixed names: the program embeds them one by one, and tells versions apart by ETag. Nothing is inlined, so that the
// page needs no exception from its Content-Security-Policy. `npm run dev` asks a server on this machine.
export default defineConfig({
  base: "/dashboard/",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: { entryFileNames: "app.js", chunkFileNames: "[name].js", assetFileNames: "app[extname]",
                inlineDynamicImports: true },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:10401" } },
});

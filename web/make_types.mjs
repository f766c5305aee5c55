// Writes src/lib/api_types.ts from docs/openapi.json: one TypeScript type for each schema, as the server's own document
// has it. `--check` writes nothing and fails where the file is not what it would write.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const document = JSON.parse(readFileSync(join(here, "../docs/openapi.json"), "utf8"));
const target = join(here, "src/lib/api_types.ts");

function union(parts) {
  return [...new Set(parts)].join(" | ");
}

function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return union(schema.anyOf.map((part) => typeOf(part, indent)));
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "array": {
      const item = typeOf(schema.items ?? {}, indent);
      return item.includes("|") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return objectOf(schema, indent);
    default:
      return "unknown";
  }
}

function objectOf(schema, indent) {
  const inner = indent + "  ";
  if (!schema.properties) {
    const others = schema.additionalProperties;
    return `Record<string, ${others && typeof others === "object" ? typeOf(others, inner) : "unknown"}>`;
  }
  const lines = Object.entries(schema.properties).map(([key, member]) => {
    const comment = member.description ? `${inner}/** ${member.description.replaceAll("*/", "* /")} */\n` : "";
    const optional = schema.required?.includes(key) ? "" : "?";
    return `${comment}${inner}${key}${optional}: ${typeOf(member, inner)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

let text = "// Made from docs/openapi.json by make_types.mjs; `npm run types` writes it anew.\n\n";
for (const [name, schema] of Object.entries(document.components.schemas)) {
  if (schema.description) text += `/** ${schema.description} */\n`;
  text += `export type ${name} = ${typeOf(schema, "")};\n\n`;
}
text += "export type ReadPath =\n";
const read = Object.entries(document.paths).filter(([path, item]) => item.get && path.startsWith("/api/v1"));
text += read.map(([path]) => `  | \`${path.replaceAll(/\{[^}]*\}/g, "${string}")}\``).join("\n") + ";\n";

if (process.argv.includes("--check")) {
  let kept = "";
  try {
    kept = readFileSync(target, "utf8");
  } catch {
    // It is not there: that is told below.
  }
  if (kept !== text) {
    console.error("web/src/lib/api_types.ts is not what docs/openapi.json says: run `npm --prefix web run types`");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}

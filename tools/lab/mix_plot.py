"""Records of a mix as one picture: under each policy who ran when, and how busy the GPU was."""
import html

WIDTH, LEFT, ROW, BUSY, GAP = 960, 150, 13, 60, 46
COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#999933", "#882255")


def chart(records):
    longest = max((job["end_seconds"] or 0 for record in records for job in record["jobs"]), default=0) or 1
    across = (WIDTH - LEFT - 20) / longest
    height = sum(GAP + ROW * len(record["jobs"]) + (BUSY if record["samples"] else 0) for record in records) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="10">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']

    def text(x, y, words, **more):
        extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
        out.append(f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{html.escape(str(words))}</text>')

    top = 0
    for record in records:
        stub = " (stub processes, no training)" if record["stub"] else ""
        whole = record["makespan_seconds"]
        text(8, top + 22, f"{record['policy']}{stub}: " + ("not all ended" if whole is None else f"{whole:.0f} s in all"),
             font_size=13, font_weight="bold")
        top += 32
        for index, job in enumerate(record["jobs"]):
            y = top + index * ROW
            text(LEFT - 6, y + 9, job["workload"], text_anchor="end")
            start, steady, end = job["start_seconds"], job["steady_seconds"], job["end_seconds"]
            for begin, until, fill in ((job["submit_seconds"], start if start is not None else end, "#e4e4e4"),
                                       (start, steady if steady is not None else end, "#bbbbbb"),
                                       (steady, end, COLOURS[index % len(COLOURS)])):
                if begin is not None and until is not None and until > begin:
                    out.append(f'<rect x="{LEFT + begin * across:.1f}" y="{y}" width="{(until - begin) * across:.1f}" height="{ROW - 3}" '
                               f'fill="{fill}"/>')
        top += ROW * len(record["jobs"]) + 4
        if record["samples"]:
            points = " ".join(f"{LEFT + s['time_seconds'] * across:.1f},{top + BUSY - 8 - (s['busy'] or 0) * (BUSY - 12):.1f}"
                              for s in record["samples"])
            out.append(f'<polyline points="{points}" fill="none" stroke="#333"/>')
            text(LEFT - 6, top + BUSY / 2, "GPU busy", text_anchor="end")
            top += BUSY
        top += GAP - 36
    text(LEFT, top + 16, f"0 to {longest:.0f} s after the first submission; pale: waits, grey: starts, coloured: trains")
    out.append("</svg>\n")
    return "\n".join(out)

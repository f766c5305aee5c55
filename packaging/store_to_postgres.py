#!/usr/bin/env python3
"""Prints a SQLite store as SQL for psql, to move it into a PostgreSQL database.

    sharewell profiles --store postgresql://sharewell@HOST/sharewell        # makes the tables
    store_to_postgres.py /var/lib/sharewell/store.db | psql -q -1 -v ON_ERROR_STOP=1 postgresql://sharewell@HOST/sharewell

The store keeps its id, so that its state folder, its logs and the seals of its jobs stay valid. All of it is copied, or nothing.
docs/operations.md says what to do before and after.
"""

import pathlib
import sqlite3
import sys

TABLES = ["meta", "series", "extent", "journal", "chunk", "minute_rollup", "hour_rollup", "dirty", "profile", "job", "job_event",
          "shared_run", "kept", "learnt_graph", "learnt_run", "learnt_model"]
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def field(value):
    """As COPY's text format has it."""
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    return str(value).translate(ESCAPES)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1]).resolve()
    if not path.is_file():
        sys.exit(f"{path}: there is no store; name the SQLite file")
    store = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    store.execute("BEGIN")  # one state of it, whatever is written meanwhile
    schema = store.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()[0]
    out = sys.stdout
    out.write("SET search_path = sharewell;\n")
    out.write(f"""DO $$ BEGIN
  IF (SELECT value FROM meta WHERE name = 'schema') IS DISTINCT FROM '{int(schema)}' THEN
    RAISE EXCEPTION 'the database has another schema than the file ({int(schema)}): open both with the same sharewell first';
  END IF;
  IF EXISTS (SELECT FROM job) OR EXISTS (SELECT FROM profile) OR EXISTS (SELECT FROM series) THEN
    RAISE EXCEPTION 'the database is not empty: copy into a new one';
  END IF;
END $$;
DELETE FROM meta;
DELETE FROM kept;
""")
    for table in TABLES:
        columns = [row[1] for row in store.execute(f"PRAGMA table_info({table})")]
        out.write(f"COPY {table}({', '.join(columns)}) FROM stdin;\n")
        for row in store.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            out.write("\t".join(map(field, row)) + "\n")
        out.write("\\.\n")
    for table in ("series", "journal", "profile", "shared_run", "learnt_run", "learnt_model"):
        out.write(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table} HAVING max(id) IS NOT NULL;\n")


if __name__ == "__main__":
    main()

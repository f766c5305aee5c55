"""Counts the methods and fields of C++ classes, simply: for tools/check_layers.py, which holds classes to a size.

It reads text, not C++: comments, strings and preprocessor lines must have been blanked. What it gets wrong by one or two does not matter for
a limit that says "about".
"""

import re

CLASS = re.compile(r"(?<!enum )\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(?:SHAREWELL_\w+\((?:[^()]|\([^()]*\))*\)\s*)?([A-Za-z_][\w:]*)"
                   r"\s*(?:final\b)?\s*(?::[^;{()]*)?\{")
ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
ANNOTATION = re.compile(r"SHAREWELL_\w+\([^()]*\)|\[\[[^\]]*\]\]|alignas\([^()]*\)")
NO_MEMBER = re.compile(r"(?:using|friend|typedef|static_assert|enum|class|struct|union)\b|template\s*<[^;]*>\s*(?:using|friend)\b")
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|[<>=!&|+*/^~%-]+)")
FUNCTION_POINTER = re.compile(r"\(\s*\*\s*\w+\s*\)\s*\(")


def _flat(text):
    """Without access labels, annotations and template arguments."""
    text = OPERATOR.sub("operator_", ANNOTATION.sub("", ACCESS.sub("", text))).strip()
    while True:
        fewer = re.sub(r"<[^<>]*>", "", text)
        if fewer == text:
            return text
        text = fewer


def _declares_function(flat):
    head = re.split(r"=(?!=)", flat)[0]
    return "(" in head and not FUNCTION_POINTER.search(head)


def _end_of_block(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def _members(body):
    methods = fields = 0

    def close(statement):
        nonlocal methods, fields
        flat = _flat(statement)
        if not flat or NO_MEMBER.match(flat):
            return
        if _declares_function(flat):
            methods += 1
        elif not re.match(r"(?:static|constexpr|inline static)\b", flat):
            # "int a = 0, b{1};" is two.
            fields += 1 + re.sub(r"\([^()]*\)|\{[^{}]*\}", "", re.sub(r"\([^()]*\)", "", flat)).count(",")

    statement = ""
    at = 0
    while at < len(body):
        if body[at] == ";":
            close(statement)
            statement = ""
            at += 1
        elif body[at] == "{":
            flat = _flat(statement)
            end = _end_of_block(body, at)
            after = body[end:].lstrip()[:1]
            # A type inside runs on to its semicolon; so does a field's value, and a constructor whose list has braces to its body.
            if not NO_MEMBER.match(flat) and _declares_function(flat) and after not in (",", "{"):
                close(statement)
                statement = ""
            at = end
        else:
            statement += body[at]
            at += 1
    return methods, fields


def classes(text):
    """(offset, name, methods, fields) of each class and struct that is defined in a blanked text."""
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.MULTILINE)
    for found in CLASS.finditer(text):
        body = text[found.end():_end_of_block(text, found.end() - 1) - 1]
        yield (found.start(), found[1], *_members(body))

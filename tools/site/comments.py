#!/usr/bin/python3
"""Doxygen's input filter: gives it the plain comments of a public header, // or those of C, as documentation.

A comment right before a declaration is its documentation, and that of the declarations which follow with no
empty line and no comment between, as whoever reads the header takes it; a comment after a field or value is
that one's. Comments in function bodies are left alone, and so is the number of lines, so that Doxygen's
warnings name the right ones. The first comment that is of no declaration is the file's. Text is text: what Doxygen takes for commands and HTML is escaped. Indented
lines of "ERROR_CODE  when" become a list, other indented blocks code.
"""

import re
import sys

COMMENT = re.compile(r"^(\s*)//(?!/) ?(.*)$")
TRAILING = re.compile(r"^(.*?[;,{})\w]\s*)//(?!/)\s?(.*)$")
ITEM = re.compile(r"^( {2,4})([A-Z][A-Z_]{3,}) {2,}(\S.*)$")
BULLET = re.compile(r"^\s{0,3}(?:[-*]|\d+\.) ")
DEFAULTED = re.compile(r"= (delete|default);\s*$")
ACCESS = re.compile(r"\s*(public|private|protected):\s*$")
NEWLINE = "@newline "   # an alias in Doxyfile


def escape(text):
    """Text outside `backquotes`, so that it stands as it is."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\@<>#&*])", r"\\\1", part).replace("__", r"\_\_") for part in parts[::2]]
    return "`".join(parts)


def is_code(lines):
    """Whether all lines up to an empty one are indented, and none is an item of a list."""
    for line in lines:
        if not line.strip():
            break
        if not line.startswith("  ") or BULLET.match(line):
            return False
    return True


def documentation(lines):
    """The lines of a comment, as many, as Doxygen wants them."""
    result, in_code, after_empty, item_indent = [], False, False, None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        item = ITEM.match(line)
        if not line.strip():
            in_code, after_empty, item_indent = False, True, None
            result.append("")
            continue
        if in_code or (after_empty and indent >= 2 and not item and is_code(lines[number:])):
            in_code = True
            result.append("    " + line)
        elif item:
            item_indent = len(item[1])
            result.append(f"- **{escape(item[2])}** {escape(item[3])}")
        elif BULLET.match(line):
            result.append(re.sub(r"^(\s*)\*", r"\1-", line)[:indent + 2] + escape(line[indent + 2:]))
        elif item_indent is not None and indent > item_indent:
            result.append("  " + escape(line.strip()))
        elif item_indent is not None:
            item_indent = None
            result.append("<br>" + escape(line.strip()))   # ends the list
        else:
            result.append(escape(line.strip()))
        after_empty = False
    return result


def without_strings(line):
    return re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'', "0", line).split("//")[0]


class Scopes:
    """Which braces are open: of a class, namespace or the like, or of a body."""

    def __init__(self):
        self.open = []
        self.statement = ""   # what has been read of the current one
        self.parentheses = 0

    def in_body(self):
        return "body" in self.open

    def in_enum(self):
        return self.open[-1:] == ["enum"]

    def kind(self):
        if re.search(r"(^|\s)enum\b[^()]*$", self.statement):
            return "enum"
        return "scope" if re.search(r'\b(class|struct|union|namespace|extern)\b[^()=]*$', self.statement) else "body"

    def read(self, code):
        """Whether a declaration has ended in this line."""
        ended = False
        for character in code:
            if character == "{":
                self.open.append(self.kind())
                if self.open[-1] != "body":
                    self.statement = ""
            elif character == "}":
                closed = self.open.pop() if self.open else "scope"
                ended = ended or not self.in_body()
                if closed != "body":
                    self.statement = ""
            elif character in "()":
                self.parentheses += 1 if character == "(" else -1
                self.statement += character
            elif character == ";" and self.parentheses == 0 and not self.in_body():
                self.statement, ended = "", True
            elif character == "," and self.in_enum():
                self.statement, ended = "", True
            else:
                self.statement += character
        # A body's end is that of its function, but for initializers, after which a semicolon comes.
        if ended and code.rstrip().endswith("}") and not self.in_body():
            self.statement = ""
        return ended


def is_declaration(code):
    code = code.strip()
    return bool(code) and not code.startswith(("#", "}", "public:", "private:", "protected:", "namespace", "friend", "using namespace"))


def inheritable(code):
    return is_declaration(code) and not re.match(r"\s*((class|struct|enum)\s+\w+;|using [\w:]+;|template class)", code)


def with_line_comments(lines):
    """Comments of C as // comments, on as many lines."""
    result, inside = [], False
    for line in lines:
        if not inside and re.match(r"\s*/\*", line):
            inside, line = True, re.sub(r"/\*+", "//", line, 1)
        elif inside:
            line = re.sub(r"^\s*\*?(?!/)", "//", line)
        if inside and "*/" in line:
            inside, line = False, line[:line.index("*/")].rstrip()
        elif not inside:
            line = re.sub(r"/\*\s?(.*?)\s*\*/\s*$", r"// \1", line)
        result.append(line)
    return result


def file_comment(lines):
    """First line and end of the comment that is the whole file's, or of an empty line where there is none."""
    start = None
    for number, line in enumerate(lines):
        if COMMENT.match(line):
            start = number if start is None else start
        elif start is not None and (not line.strip() or line.startswith("namespace")):
            return start, number
        elif is_declaration(line):
            break
        else:
            start = None
    return next(((number, number + 1) for number, line in enumerate(lines[:-1])
                 if not line.strip() and lines[number + 1].startswith(("#", "namespace"))), (0, 0))


def with_file_comment(lines):
    """Without it Doxygen leaves out what is in no class."""
    start, end = file_comment(lines)
    matches = [COMMENT.match(line) for line in lines[start:end]]
    texts = documentation([match[2] for match in matches if match]) or [""]
    found = [f"/// {text}".rstrip() for text in texts]
    found[0] = f"/// @file{' ' + NEWLINE + found[0][4:] if found[0][4:] else ''}"
    return lines[:start] + found[:end - start] + lines[end:]


def filtered(lines):
    lines = with_line_comments(lines)
    lines = with_file_comment(lines)
    scopes, comment, kept, around = Scopes(), [], None, []
    result = []
    for number, line in enumerate(lines):
        match = COMMENT.match(line)
        if line.startswith("///"):   # the file's
            result.append(line)
            continue
        if match:
            comment.append(match[2])
            result.append(line)
            continue
        code = without_strings(line)
        outside = not scopes.in_body() and not scopes.statement.strip()
        if comment and outside and (is_declaration(code) or code.lstrip().startswith("#define")):
            kept = documentation(comment)
            start = number - len(comment)
            result[start:] = [re.sub(r"//.*", "", old) + ("/// " + text).rstrip() for old, text in zip(result[start:], kept)]
        elif outside and (comment or not inheritable(code)):
            kept = None
        trailing = TRAILING.match(line) if not scopes.in_body() and not scopes.parentheses else None
        if trailing and re.search(r"[;,\w]\s*$", trailing[1]):
            line = f"{trailing[1]}///< {escape(trailing[2])}"
        elif kept is not None and not comment and outside and not scopes.in_enum() and not DEFAULTED.search(code):
            line = f"/** {NEWLINE.join(kept)} */ {line}"
        comment = []
        result.append(line)
        depth, was_scope = len(scopes.open), not scopes.in_body()
        if not code.lstrip().startswith("#") and not ACCESS.match(code):
            scopes.read(code)
        if len(scopes.open) > depth and not scopes.in_body():
            around.append(kept)
            kept = None   # what is in a class is not what the class is
        elif len(scopes.open) < depth and was_scope and around:
            kept = around.pop()
    return result


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(filtered(file.read().split("\n"))))


if __name__ == "__main__":
    main()

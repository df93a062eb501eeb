#!/usr/bin/env python3
"""Writes tally.1, the manual page, from what the tool says about itself.

  tally --experimental-dump-help | Scripts/manual.py >tally.1

The form is man(7): https://man7.org/linux/man-pages/man7/man.7.html
"""
import json
import sys


def escaped(text):
    """A text that troff prints as it stands."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    # A line that begins with a period would be a request; an apostrophe is written as a glyph by now.
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def names(argument):
    """`-o, --output <file>` of an option, `<file>` of a positional argument."""
    value = "" if argument["kind"] == "flag" else f"<{argument['valueName']}>"
    if argument["kind"] == "positional":
        return value
    dashes = {"short": "-", "long": "--", "longWithSingleDash": "-"}
    written = [dashes[name["kind"]] + name["name"] for name in argument["names"]]
    return f"{', '.join(written)} {value}".strip()


def shown(command):
    """What the command takes of its own: every command has --help and --version."""
    for argument in command.get("arguments", []):
        known = {name["name"] for name in argument.get("names", [])}
        if argument["shouldDisplay"] and not known & {"help", "version"}:
            yield argument


def synopsis(words, command):
    parts = [f"\\fB{escaped(' '.join(words))}\\fR"]
    for argument in shown(command):
        text = escaped(names(argument))
        if argument["kind"] != "positional":
            name, space, value = text.partition(" <")
            text = f"\\fB{name}\\fR{space}{value}"
        text += " ..." if argument["isRepeating"] else ""
        parts.append(f"[{text}]" if argument["isOptional"] else text)
    return " ".join(parts)


def paragraphs(text):
    """Prose is filled; lines that are indented, examples mostly, stay as they are."""
    inside = False
    for line in text.split("\n"):
        is_example = line.startswith("  ")
        if is_example != inside:
            yield ".PP\n.RS 4\n.nf" if is_example else ".fi\n.RE"
            inside = is_example
        yield ".PP" if not line else escaped(line.strip())
    if inside:
        yield ".fi\n.RE"


def describe(words, command):
    """The sections of a command and of those that it has."""
    subcommands = [c for c in command.get("subcommands", []) if c["shouldDisplay"] and c["commandName"] != "help"]
    if len(words) > 1:
        yield f".SS \"{escaped(' '.join(words))}\""
        yield synopsis(words, command)
        yield ".PP\n" + escaped(command.get("abstract", ""))
        if command.get("discussion"):
            yield ".PP"
            yield from paragraphs(command["discussion"])
        for argument in shown(command):
            yield f".TP\n.B {escaped(names(argument))}"
            default = argument.get("defaultValue")
            yield escaped(argument.get("abstract", "") + (f" (default: {default})" if default else "")) or "\\&"
    for subcommand in subcommands:
        yield from describe(words + [subcommand["commandName"]], subcommand)


def main():
    tool = json.load(sys.stdin)["command"]
    print(f'.TH {tool["commandName"].upper()} 1')
    print(f'.SH NAME\n{tool["commandName"]} \\- {escaped(tool["abstract"].rstrip("."))}')
    print(f'.SH SYNOPSIS\n\\fB{tool["commandName"]}\\fR <command> [options]')
    print(".SH DESCRIPTION")
    print("\n".join(paragraphs(tool["discussion"])))
    print(".PP\nEvery command has \\fB\\-\\-help\\fR, and \\fB\\-\\-version\\fR prints the version.")
    print(".SH COMMANDS")
    print("\n".join(describe([tool["commandName"]], tool)))


main()

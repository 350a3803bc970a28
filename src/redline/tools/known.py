"""The tools of known agents, one table for each agent."""

import re
from typing import Any

from redline.tools.tool import Tool

_TABLES = {
    "Claude Code": """
        reads: Read(file_path path) NotebookRead(notebook_path)  writes: Write(file_path)
        edits: Edit(file_path) MultiEdit(file_path) NotebookEdit(notebook_path)  lists: Glob(path) LS(path)
        searches: Grep(pattern)  runs: Bash(command cmd) Monitor(command)  evaluates: PowerShell(command)
        resumes: BashOutput(bash_id) KillBash(shell_id) KillShell(shell_id) TaskOutput(task_id) TaskStop(task_id)
        fetches: WebFetch(url)  searches_web: WebSearch(query)
        asks: Task(prompt) Agent(prompt) SendMessage(message content)
        asks_user: AskUserQuestion(questions) ExitPlanMode(plan)
        notes: TodoRead TodoWrite TaskCreate TaskGet TaskList TaskUpdate""",
    "Codex": """
        reads: view_image(path) read_file(file_path)  patches: apply_patch(input)  lists: list_dir(dir_path)
        searches: grep_files(pattern)
        runs: exec_command(cmd) shell(command) shell_command(command) local_shell(command) local_shell_call(command)
            container.exec(cmd)  scripts: exec(input)  resumes: wait(cell_id) write_stdin(session_id)
        fetches: web_search(url) web_search_call(url)  searches_web: web_search(query) web_search_call(query)
        asks: spawn_agent(message) send_input(message) send_message(message)  asks_user: request_user_input(questions)
        notes: update_plan""",
    "opencode": """
        reads: read(filePath)  writes: write(filePath)  edits: edit(filePath) multiedit(filePath)
        patches: patch(patchText) apply_patch(patchText)  lists: list(path) glob(path)  searches: grep(pattern)
        runs: bash(command)  fetches: webfetch(url)  searches_web: websearch(query) codesearch(query)  asks: task(prompt)
        asks_user: question(questions)  notes: todoread todowrite""",
    "Cline": """
        reads: read_file(path files) read_files(files paths)  writes: write_to_file(path)
        edits: replace_in_file(path) apply_diff(path) insert_content(path) search_and_replace(path) editor(path)
        lists: list_files(path)  searches: search_files(regex) codebase_search(query)  runs: execute_command(command)
        runs_each: run_commands(commands)  fetches: web_fetch(url)  asks: new_task(message context)
        asks_user: ask_followup_question(question)  notes: update_todo_list""",
    "Gemini CLI": """
        reads: read_file(file_path absolute_path) read_many_files(paths include)  writes: write_file(file_path)
        edits: replace(file_path)  lists: list_directory(dir_path path) glob(dir_path path)
        searches: grep_search(pattern) search_file_content(pattern)  runs: run_shell_command(command)
        fetches: web_fetch(url)  searches_web: google_web_search(query)  asks: codebase_investigator(objective)
        asks_user: ask_user(questions)  notes: save_memory write_todos""",
    "Copilot CLI": """
        reads: view(path)  writes: create(path)  edits: edit(path)  patches: apply_patch(input)  lists: glob(paths path)
        searches: rg(pattern) grep(pattern)  runs: bash(command)  evaluates: powershell(command)
        resumes: read_bash(shellId sessionId) write_bash(shellId sessionId) stop_bash(shellId sessionId)
            read_powershell(shellId sessionId) write_powershell(shellId sessionId) stop_powershell(shellId sessionId)
        fetches: web_fetch(url)  asks: task(prompt)  asks_user: ask_user(question)  notes: report_intent update_todo
        editors: str_replace_editor""",
    "pi": """
        reads: read(path)  writes: write(path)  edits: edit(path)  patches: edit(input)
        lists: find(path) glob(path) ls(path)  searches: grep(pattern)  runs: bash(command)
        searches_web: web_search(query)  has_lines_in_path: read""",
    "OpenHands": """
        edits: edit_file(path)  runs: execute_bash(command) terminal(command)  evaluates: execute_ipython_cell(code)
        notes: think task_tracker  editors: str_replace_editor file_editor""",
    "SWE-agent": """
        reads: open(path)  writes: create(filename)  lists: find_file(dir)
        searches: search_dir(search_term) search_file(search_term)  runs: bash(command)  editors: str_replace_editor""",
    "mini-SWE-agent": """
        runs: bash(command)""",
    "Inspect AI": """
        runs: bash(command cmd)  evaluates: python(code)  fetches: web_browser_go(url)  searches_web: web_search(query)
        notes: think  editors: text_editor""",
    "Anthropic's own": """
        runs: bash(command) bash_code_execution(command)  evaluates: code_execution(code)  fetches: web_fetch(url)
        searches_web: web_search(query)  editors: str_replace_based_edit_tool text_editor_code_execution memory""",
    "Snow CLI": """
        reads: filesystem-read(filePath)
        writes: filesystem-create(filePath) filesystem-write(filePath) filesystem-delete(filePath)
        edits: filesystem-edit(filePath) filesystem-edit_search(filePath)  lists: filesystem-list(dirPath path)
        runs: terminal-execute(command)  fetches: websearch-fetch(url)  searches_web: websearch-search(query)""",
    "Neovate": """
        reads: read(file_path)  writes: write(file_path)  edits: edit(file_path)  lists: ls(dir_path) glob(path)
        searches: grep(pattern)  runs: bash(command)  resumes: bash_output(task_id) kill_bash(task_id)
        fetches: fetch(url)  asks: task(prompt)  notes: todoRead todoWrite""",
    "Cursor": """
        reads: read_file(target_file)  writes: delete_file(target_file)
        edits: edit_file(target_file) search_replace(file_path)
        lists: list_dir(target_directory relative_workspace_path) file_search(path)
        searches: grep_search(query) codebase_search(query)  runs: run_terminal_cmd(command)
        searches_web: web_search(search_term)  notes: todo_write""",
    "Copilot in VS Code": """
        reads: read_file(filePath)  writes: create_file(filePath path)
        edits: replace_string_in_file(filePath) insert_edit_into_file(filePath)  lists: list_dir(path)
        searches: grep_search(query) semantic_search(query)  runs: run_in_terminal(command)
        resumes: get_terminal_output(id)  fetches: fetch_webpage(urls)  asks: runSubagent(prompt)
        notes: manage_todo_list""",
    "Kimi CLI": """
        reads: ReadFile(path)  writes: WriteFile(path)  edits: StrReplaceFile(path)  runs: Shell(command)
        fetches: FetchURL(url)  searches_web: SearchWeb(query)  notes: SetTodoList""",
    "servers of MCP": """
        reads: read_file(path) read_text_file(path) read_media_file(path) read_multiple_files(paths)
        writes: write_file(path) move_file(destination)  edits: edit_file(path file_path)
        lists: list_directory(path) list_directory_with_sizes(path) directory_tree(path)  runs: developer__shell(command)
        fetches: mcp__fetch__fetch(url)  editors: developer__text_editor""",
}
"""By agent: under each field of `Tool` the tools that do such a thing, each with the arguments that say what it is done to."""

_EDITOR_COMMANDS = {
    "view": Tool(reads="path"),
    "create": Tool(writes="path"),
    "write": Tool(writes="path"),
    "str_replace": Tool(edits="path"),
    "insert": Tool(edits="path"),
    "undo_edit": Tool(edits="path"),
    "delete": Tool(writes="path"),
    "rename": Tool(writes="new_path"),
}
_ENTRY = re.compile(r"(?:(\w+):|([^\s()]+)(?:\(([^)]*)\))?)")


def _tools(table: str) -> dict[str, Tool]:
    """An editor does several things, and has a row for each: its name, a space, the value of its argument `command`."""
    rows: dict[str, dict[str, Any]] = {}
    editors: dict[str, Tool] = {}
    does = ""
    for field, name, arguments in _ENTRY.findall(table):
        if field:
            does = field
        elif does == "editors":
            editors |= {f"{name} {command}": tool for command, tool in _EDITOR_COMMANDS.items()}
        else:
            rows.setdefault(name, {})[does] = arguments or True
    return {name: Tool(**told) for name, told in rows.items()} | editors


KNOWN = tuple(map(_tools, _TABLES.values()))
"""A table for each agent, by the names of its tools."""

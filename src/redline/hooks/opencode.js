// Redline's hook for opencode: what tools print is folded before the model is sent it.
import { spawn } from "node:child_process"

const INSTALLED = []
const GIVEN = process.env.REDLINE_HOOK // set for a run with `redline run --hooks`, whose own plugin then does the work
const COMMAND = GIVEN && !INSTALLED.length ? JSON.parse(GIVEN) : GIVEN ? [] : INSTALLED
const WHOLE = ""
const OTHERS = /^(read|write|edit|multiedit|patch|apply_patch|task|todoread|todowrite|webfetch|websearch|skill|question)$/
const LEAST_CHARS = 200

const answer = (event) =>
  new Promise((resolve) => {
    const asked = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], timeout: 10_000 })
    const said = []
    asked.on("error", () => resolve(null))
    asked.stdin.on("error", () => {})
    asked.stdout.on("data", (bytes) => said.push(bytes))
    asked.on("close", () => {
      try {
        resolve(JSON.parse(Buffer.concat(said).toString("utf8")).output)
      } catch {
        resolve(null) // nothing to fold, or it failed: the output stays as it is
      }
    })
    asked.stdin.end(JSON.stringify({ hook_event_name: "PostToolUse", ...event }))
  })

export const Redline = async () => ({
  // Whole outputs may be read without a question, unless the user has said otherwise.
  config: async (config) => {
    const whole = WHOLE || process.env.REDLINE_HOOK_WHOLE
    if (!whole || !COMMAND.length) return
    const asked = config.permission ?? {}
    if (typeof asked !== "object") return
    const outside = asked.external_directory ?? {}
    if (typeof outside === "object") config.permission = { ...asked, external_directory: { [`${whole}/*`]: "allow", ...outside } }
  },
  "tool.execute.after": async (input, output) => {
    if (!COMMAND.length || OTHERS.test(input.tool)) return
    const { metadata } = output
    if (metadata?.truncated || (metadata?.exit ?? 0) !== 0) return
    const said = output.content ?? output.output
    if (JSON.stringify(said ?? "").length < LEAST_CHARS) return
    const told = { tool_name: input.tool, tool_input: input.args, session_id: input.sessionID }
    const folded = await answer({ ...told, tool_response: said })
    if (folded === null || folded === undefined) return
    if (output.content) output.content = folded
    else output.output = folded
  },
})

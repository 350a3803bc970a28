// Redline's hook for pi: what tools print is folded before the model is sent it.
import { spawn } from "node:child_process"

const INSTALLED = []
const GIVEN = process.env.REDLINE_HOOK // set for a run with `redline run --hooks`, whose own extension then does the work
const COMMAND = GIVEN && !INSTALLED.length ? JSON.parse(GIVEN) : GIVEN ? [] : INSTALLED
const OTHERS = /^(read|write|edit)$/
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

export default function (pi) {
  pi.on("tool_result", async (event, context) => {
    if (!COMMAND.length || event.isError || OTHERS.test(event.toolName)) return
    const cut = event.details?.truncation?.truncated || event.details?.fullOutputPath
    if (cut || JSON.stringify(event.content).length < LEAST_CHARS) return
    const told = { tool_name: event.toolName, tool_input: event.input, session_id: context.sessionManager?.getSessionId?.() }
    const folded = await answer({ ...told, tool_response: event.content })
    if (Array.isArray(folded)) return { content: folded }
  })
}

"""Figures of public outcomes: paired by task, with their intervals."""

from bench.outcomes import PublicRun, paired_difference, public_runs, three_proxies

HEAD = "experiment,instance_id,cost,summary_cost,has_summary,summary_count,turn_count,mean_reasoning_tokens,"
HEAD += "mean_completion_tokens,mean_prompt_tokens,outcome,strategy,scaffold\n"


def run(solved, turns=10.0):
    return PublicRun(solved, turns, 1.0, 100.0)


def test_differences_are_paired_by_task():
    """Tasks that only one of them has do not count."""
    raw = {str(task): run(task % 2) for task in range(100)}
    worse = {str(task): run(0, 20.0) for task in range(50, 150)}
    solved = paired_difference(worse, raw, "solved")
    assert solved.value == -0.5
    assert solved.low < -0.5 < solved.high < 0
    turns = paired_difference(worse, raw, "turns")
    assert (turns.value, turns.low, turns.high) == (10.0, 10.0, 10.0)


def test_experiments_are_read_by_what_they_tried(tmp_path):
    """Agent, model, strategy with its window, and how many tasks."""
    names = {
        "gemini-2.5-flash_maxiter_250_N_v0.43.0-no-hint-observation_masking-M_72-observation_masking_for_eval-run_1": (
            *("Observation Masking", "openhands"),
            *("OpenHands", "Gemini 2.5 Flash", "masking, last 72", False),
        ),
        "gemini-2.5-flash_maxiter_250_N_v0.43.0-no-hint-observation_masking-observation_masking_for_eval-run_1": (
            *("Observation Masking", "openhands"),
            *("OpenHands", "Gemini 2.5 Flash", "masking, last 10", False),
        ),
        "local-Qwen3-Coder_480B-agent-t_0.8-turn-summaries-t_0-summary_N_43_M_10_obs_masking_M_10_combined.0-verified-50": (
            *("LLM-Summary", "sweagent"),
            *("SWE-agent", "Qwen3-Coder 480B", "summaries of 43 and masking", True),
        ),
        "gemini_2.5_flash_thinking-agent-t_0.8-turn-summaries-t_0-N_21_M_10_openhands.0-verified-500": (
            *("LLM-Summary", "sweagent"),
            *("SWE-agent", "Gemini 2.5 Flash, thinking", "summaries of 21", False),
        ),
        "local-qwen3-32b-baseline_raw.0-verified-500": (
            *("Raw Agent", "sweagent"),
            *("SWE-agent", "Qwen3 32B", "everything", False),
        ),
    }
    rows = [f"{name},t,1,,False,0,7,0,0,5,1,{told[0]},{told[1]}" for name, told in names.items()]
    path = tmp_path / "runs.csv"
    path.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    found = [(one.scaffold, one.model, one.name, one.is_small) for one in public_runs(path)]
    assert found == [told[2:] for told in names.values()]


def test_proxies_are_read_by_benchmark_and_arm(tmp_path):
    """A cost that is not told counts as nothing."""
    path = tmp_path / "proxies.csv"
    head = "benchmark,arm,task,solved,outcome,steps,cache_read_tokens,cache_write_tokens,billed_usd"
    path.write_text(f"{head}\nb,rtk,t,1,solved,28,10,5,0.5\nb,baseline,t,0,failed,30,,,\n", encoding="utf-8")
    found = three_proxies(path)
    assert found["b", "rtk"] == {"t": PublicRun(1, 28.0, 0.5, 10.0)}
    assert found["b", "baseline"]["t"].cost_usd == 0.0

"""How a step of GRPO shortens when answering and training no longer take turns, and what that does to staleness."""

import topoopt

POLICIES = ("colocated", "one-step-off", "asynchronous")


def main() -> None:
    for policy in POLICIES:
        step = topoopt.rl(
            "qwen3-8b",
            accelerators=32,
            policy=policy,
            prompts=128,
            samples=16,
            mean_length=2000,
            max_length=8000,
        )
        busy = {name: round(seconds) for name, seconds in step.phases_s.items() if seconds > 1}
        print(
            f"{policy:13s} {step.step_s:6.1f} s a step, {step.turns.staleness_steps:.1f} updates old: {busy}"
        )


if __name__ == "__main__":
    main()

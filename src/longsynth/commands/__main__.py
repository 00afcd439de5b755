"""The console script: Ctrl-C is heard before anything that takes time is loaded."""

from longsynth.system.interrupts import EarlyInterruptHandler


def main() -> None:
    """Run the commands; `commands/exit.py` lists the exit codes."""
    with EarlyInterruptHandler():
        from longsynth.commands.app import app
        from longsynth.commands.exit import run

        run(app)


if __name__ == "__main__":
    main()

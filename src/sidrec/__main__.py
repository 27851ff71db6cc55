"""`python -m sidrec`: what `accelerate launch -m sidrec` and torchrun start."""

from sidrec.cli.main import main

if __name__ == "__main__":
    main()

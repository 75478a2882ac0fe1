import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the jobs that other processes import

"""Random problems against Kohort, judged by definition alone: `python -m fuzz --help`.

A case is drawn from a seed and a number, attempted (a release or a refusal comes of it) and judged by
`tests/by_definition`, which shares no code with the package. What fails is shrunk and printed as a test.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # by_definition lives there

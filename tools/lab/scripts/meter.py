"""How fast a loop is: from its 10th step to its last. Each script prints one line of JSON at its end."""
import json
import time

import torch

WARM = 10


class Meter:
    def __init__(self):
        self.steps, self.steady = 0, None

    @staticmethod
    def now():
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return time.time()

    def step(self):
        self.steps += 1
        if self.steps == WARM:
            self.steady = self.now()

    def report(self):
        ended = self.now()
        took = ended - self.steady if self.steady else 0
        print(json.dumps({"steps": self.steps, "steps_per_second": round((self.steps - WARM) / took, 4) if took > 0 else None,
                          "steady_ms": self.steady and round(self.steady * 1000), "ended_ms": round(ended * 1000)}), flush=True)

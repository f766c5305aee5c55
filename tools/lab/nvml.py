"""What NVML says of one GPU, by ctypes: nothing to install. Absent where there is no driver."""
import ctypes


class _Rates(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Gpu:
    def __init__(self, index=0):
        """OSError: there is no driver or no such GPU."""
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.handle = ctypes.c_void_p()
        if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.handle)):
            raise OSError("NVML does not answer")

    def text(self, function, *before):
        buffer = ctypes.create_string_buffer(96)
        failed = getattr(self.nvml, function)(*before, buffer, len(buffer))
        return None if failed else buffer.value.decode("ascii", "replace")

    def name(self):
        return self.text("nvmlDeviceGetName", self.handle)

    def driver(self):
        return self.text("nvmlSystemGetDriverVersion")

    def sample(self):
        """busy 0..1, memory in use in bytes, power in watts; None: not told."""
        rates, memory, power = _Rates(), _Memory(), ctypes.c_uint()
        return {
            "busy": None if self.nvml.nvmlDeviceGetUtilizationRates(self.handle, ctypes.byref(rates)) else rates.gpu / 100,
            "memory_used_bytes": None if self.nvml.nvmlDeviceGetMemoryInfo(self.handle, ctypes.byref(memory)) else memory.used,
            "power_watts": None if self.nvml.nvmlDeviceGetPowerUsage(self.handle, ctypes.byref(power)) else power.value / 1000}

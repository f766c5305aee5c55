// The owner of a precompiled header needs one source.

// Owns the precompiled header that all test programs share: it must be a program like them, for the same code model.
int main() { return 0; }

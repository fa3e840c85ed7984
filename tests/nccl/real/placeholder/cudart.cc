extern "C" int cudaPlaceholder() { return 0; }

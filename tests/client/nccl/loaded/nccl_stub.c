/* An NCCL that has only a version. */
int ncclGetVersion(int* version) {
  *version = VERSION;
  return 0;
}

/* The CPU target for C programs: makes calls on CPU tensors servable. */
#ifndef KAON_HOST_H_
#define KAON_HOST_H_

#ifdef __cplusplus
extern "C" {
#endif

/* From now on calls on CPU tensors run on the SIMT machine, unchecked. Idempotent and thread-safe. Link kaon::host. */
void kaon_host_install(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KAON_HOST_H_ */

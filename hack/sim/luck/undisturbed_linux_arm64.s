//go:build !race

#include "textflag.h"

// stay handles a signal by waiting forever.
TEXT ·stay(SB), NOSPLIT|NOFRAME, $0
again:
	MOVD $0, R0
	MOVD $0, R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD $73, R8 // ppoll without a file and without a limit
	SVC
	B again

// func stayAddress() uintptr
TEXT ·stayAddress(SB), NOSPLIT, $0-8
	MOVD $·stay(SB), R0
	MOVD R0, ret+0(FP)
	RET

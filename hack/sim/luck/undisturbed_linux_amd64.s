//go:build !race

#include "textflag.h"

// stay handles a signal by waiting forever.
TEXT ·stay(SB), NOSPLIT|NOFRAME, $0
again:
	MOVL $34, AX // pause
	SYSCALL
	JMP again

// func stayAddress() uintptr
TEXT ·stayAddress(SB), NOSPLIT, $0-8
	LEAQ ·stay(SB), AX
	MOVQ AX, ret+0(FP)
	RET

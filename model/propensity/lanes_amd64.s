#include "textflag.h"

// All lanes do what the plain functions of lanes.go do, in the same order: each lane has the bits of the plain number.
// None has fused operations but EXP, which fuses where math.Exp does.

DATA lanes<>+0x00(SB)/8, $0x00000000000000fe // of the leading seven bits, twice
DATA lanes<>+0x08(SB)/8, $0x000fffffffffffff // fraction
DATA lanes<>+0x10(SB)/8, $0x3ff0000000000000 // 1
DATA lanes<>+0x18(SB)/8, $0x4330000000000000 // 2^52
DATA lanes<>+0x20(SB)/8, $0x43300000000003ff // 2^52 + 1023
DATA lanes<>+0x28(SB)/8, $0x3fe62e42fefa39ef // ln 2
DATA lanes<>+0x30(SB)/8, $0x3fc999999999999a // .2
DATA lanes<>+0x38(SB)/8, $0xbfd0000000000000 // -.25
DATA lanes<>+0x40(SB)/8, $0x3fd5555555555555 // 1/3
DATA lanes<>+0x48(SB)/8, $0xbfe0000000000000 // -.5
DATA lanes<>+0x50(SB)/8, $0x00000000000007ff // exponent of infinity and of no number
GLOBL lanes<>(SB), RODATA, $0x58

// Of the exponential, as in math.archExp.
DATA exps<>+0x00(SB)/8, $12.0 // maxLogit
DATA exps<>+0x08(SB)/8, $-12.0
DATA exps<>+0x10(SB)/8, $0x8000000000000000 // sign
DATA exps<>+0x18(SB)/8, $1.4426950408889634073599246810018920 // 1/ln 2
DATA exps<>+0x20(SB)/8, $0.69314718055966295651160180568695068359375 // upper half of ln 2
DATA exps<>+0x28(SB)/8, $0.28235290563031577122588448175013436025525412068e-12 // lower half
DATA exps<>+0x30(SB)/8, $0.0625
DATA exps<>+0x38(SB)/8, $2.4801587301587301587e-5
DATA exps<>+0x40(SB)/8, $1.9841269841269841270e-4
DATA exps<>+0x48(SB)/8, $1.3888888888888888889e-3
DATA exps<>+0x50(SB)/8, $8.3333333333333333333e-3
DATA exps<>+0x58(SB)/8, $4.1666666666666666667e-2
DATA exps<>+0x60(SB)/8, $1.6666666666666666667e-1
DATA exps<>+0x68(SB)/8, $0.5
DATA exps<>+0x70(SB)/8, $1.0
DATA exps<>+0x78(SB)/8, $2.0
DATA exps<>+0x80(SB)/8, $0x00000000000003ff // bias of the exponent
GLOBL exps<>(SB), RODATA, $0x88

// func logLanes(x *float64, n int, table *[128][2]float64) (done int)
TEXT ·logLanes(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ table+16(FP), SI
	XORQ AX, AX
	SUBQ $4, CX
	JLT  logDone
	VPBROADCASTQ lanes<>+0x00(SB), Y15
	VPBROADCASTQ lanes<>+0x08(SB), Y14
	VPBROADCASTQ lanes<>+0x10(SB), Y13
	VPBROADCASTQ lanes<>+0x18(SB), Y12
	VPBROADCASTQ lanes<>+0x20(SB), Y11
	VPBROADCASTQ lanes<>+0x28(SB), Y10
	VPBROADCASTQ lanes<>+0x50(SB), Y9
	VPXOR Y8, Y8, Y8
logLoop:
	VMOVDQU (DI)(AX*8), Y0
	VPSRLQ $52, Y0, Y1           // biased exponent, the sign above it
	VPCMPGTQ Y8, Y1, Y2
	VPCMPGTQ Y1, Y9, Y3
	VPAND Y2, Y3, Y2
	VMOVMSKPD Y2, DX
	CMPQ DX, $15
	JNE  logDone
	VPSRLQ $44, Y0, Y2
	VPAND Y15, Y2, Y2            // place in the table, in numbers
	VMOVQ X2, R8
	VPEXTRQ $1, X2, R9
	VEXTRACTI128 $1, Y2, X3
	VMOVQ X3, R10
	VPEXTRQ $1, X3, R11
	VMOVUPD (SI)(R8*8), X4
	VINSERTF128 $1, (SI)(R10*8), Y4, Y4
	VMOVUPD (SI)(R9*8), X5
	VINSERTF128 $1, (SI)(R11*8), Y5, Y5
	VUNPCKLPD Y5, Y4, Y6         // inverses of the centres
	VUNPCKHPD Y5, Y4, Y7         // their logarithms
	VPAND Y14, Y0, Y0
	VPOR Y13, Y0, Y0             // in [1, 2)
	VMULPD Y6, Y0, Y0
	VSUBPD Y13, Y0, Y0           // r
	VPOR Y12, Y1, Y1
	VSUBPD Y11, Y1, Y1           // exponent
	VMULPD Y10, Y1, Y1
	VADDPD Y7, Y1, Y1            // e ln 2 + t
	VMULPD Y0, Y0, Y2            // q
	VBROADCASTSD lanes<>+0x30(SB), Y3
	VMULPD Y3, Y0, Y3
	VBROADCASTSD lanes<>+0x38(SB), Y4
	VADDPD Y4, Y3, Y3
	VMULPD Y2, Y3, Y3            // q (-.25 + r/5)
	VBROADCASTSD lanes<>+0x40(SB), Y4
	VMULPD Y4, Y0, Y4
	VBROADCASTSD lanes<>+0x48(SB), Y5
	VADDPD Y5, Y4, Y4
	VADDPD Y3, Y4, Y4
	VMULPD Y2, Y4, Y4
	VADDPD Y4, Y0, Y0
	VADDPD Y0, Y1, Y0
	VMOVUPD Y0, (DI)(AX*8)
	ADDQ $4, AX
	CMPQ AX, CX
	JLE  logLoop
logDone:
	VZEROUPPER
	MOVQ AX, done+24(FP)
	RET

// func ratioLanes(dst, cell, side *float64, part float64, base, times *float64, n int)
TEXT ·ratioLanes(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ cell+8(FP), SI
	MOVQ side+16(FP), DX
	VBROADCASTSD part+24(FP), Y15
	MOVQ base+32(FP), R8
	MOVQ times+40(FP), R9
	MOVQ n+48(FP), CX
	XORQ AX, AX                  // numbers before the horizon
ratioLoop:
	CMPQ CX, $4
	JLT  ratioTail
	VMOVUPD (SI)(AX*8), Y0
	VMOVUPD 32(SI)(AX*8), Y1
	TESTQ DX, DX
	JZ   ratioWhole
	VMOVUPD (DX)(AX*8), Y2
	VMOVUPD 32(DX)(AX*8), Y3
	VSUBPD Y0, Y2, Y2
	VSUBPD Y1, Y3, Y3
	VMULPD Y15, Y2, Y2
	VMULPD Y15, Y3, Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
ratioWhole:
	VADDPD (R8)(AX*8), Y0, Y0
	VADDPD 32(R8)(AX*8), Y1, Y1
	VMULPD (R9)(AX*8), Y0, Y0
	VMULPD 32(R9)(AX*8), Y1, Y1
	VUNPCKLPD Y1, Y0, Y2         // of class 0, horizons 0, 2, 1, 3
	VUNPCKHPD Y1, Y0, Y3         // of class 1
	VDIVPD Y2, Y3, Y3
	VPERMPD $0xd8, Y3, Y3
	VMOVUPD Y3, (DI)
	ADDQ $32, DI
	ADDQ $8, AX
	SUBQ $4, CX
	JMP  ratioLoop
ratioTail:
	TESTQ CX, CX
	JLE  ratioDone
	VMOVUPD (SI)(AX*8), X0
	TESTQ DX, DX
	JZ   ratioWholeTail
	VMOVUPD (DX)(AX*8), X2
	VSUBPD X0, X2, X2
	VMULPD X15, X2, X2
	VADDPD X2, X0, X0
ratioWholeTail:
	VADDPD (R8)(AX*8), X0, X0
	VMULPD (R9)(AX*8), X0, X0
	VUNPCKHPD X0, X0, X1
	VDIVSD X0, X1, X1
	VMOVSD X1, (DI)
	ADDQ $8, DI
	ADDQ $2, AX
	DECQ CX
	JMP  ratioTail
ratioDone:
	VZEROUPPER
	RET

// func sumLanes(z *[cards]float64, w *pair, x *float64, n int)
TEXT ·sumLanes(SB), NOSPLIT, $0-32
	MOVQ z+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ n+24(FP), CX
	VMOVUPD (DI), Y0
	TESTQ CX, CX
	JLE  sumDone
sumLoop:
	VBROADCASTSD (DX), Y1
	VMULPD (SI), Y1, Y1
	VADDPD Y1, Y0, Y0
	ADDQ $64, SI
	ADDQ $8, DX
	DECQ CX
	JNZ  sumLoop
	VMOVUPD Y0, (DI)
sumDone:
	VZEROUPPER
	RET

// func stepLanes(w *pair, x *float64, use *[cards]uint64, n int, sq, step *[cards]float64)
TEXT ·stepLanes(SB), NOSPLIT, $0-48
	MOVQ w+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ use+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ sq+32(FP), R8
	MOVQ step+40(FP), R9
	TESTQ CX, CX
	JLE  stepDone
	VMOVUPD (R8), Y15
	VMOVUPD (R9), Y14
stepLoop:
	VBROADCASTSD (SI), Y0
	VMOVUPD 32(DI), Y2           // G
	VMOVUPD (DI), Y3             // w
	VMOVUPD (DX), Y4
	VMULPD Y0, Y0, Y1
	VMULPD Y1, Y15, Y1
	VADDPD Y1, Y2, Y1
	VMULPD Y0, Y14, Y0
	VSQRTPD Y1, Y5
	VDIVPD Y5, Y0, Y0
	VSUBPD Y0, Y3, Y0
	VBLENDVPD Y4, Y1, Y2, Y2
	VBLENDVPD Y4, Y0, Y3, Y3
	VMOVUPD Y2, 32(DI)
	VMOVUPD Y3, (DI)
	ADDQ $64, DI
	ADDQ $8, SI
	ADDQ $32, DX
	DECQ CX
	JNZ  stepLoop
stepDone:
	VZEROUPPER
	RET

// EXP replaces Y0 by its exponential, of arguments within 700. Y10, Y11 and Y12 hold bias, 2 and 1.
#define EXP \
	VBROADCASTSD exps<>+0x18(SB), Y1; \
	VMULPD Y0, Y1, Y1; \
	VCVTPD2DQY Y1, X5; \
	VCVTDQ2PD X5, Y1; \
	VBROADCASTSD exps<>+0x20(SB), Y2; \
	VFNMADD231PD Y2, Y1, Y0; \
	VBROADCASTSD exps<>+0x28(SB), Y2; \
	VFNMADD231PD Y2, Y1, Y0; \
	VBROADCASTSD exps<>+0x30(SB), Y2; \
	VMULPD Y2, Y0, Y0; \
	VBROADCASTSD exps<>+0x38(SB), Y1; \
	VBROADCASTSD exps<>+0x40(SB), Y2; \
	VFMADD213PD Y2, Y0, Y1; \
	VBROADCASTSD exps<>+0x48(SB), Y2; \
	VFMADD213PD Y2, Y0, Y1; \
	VBROADCASTSD exps<>+0x50(SB), Y2; \
	VFMADD213PD Y2, Y0, Y1; \
	VBROADCASTSD exps<>+0x58(SB), Y2; \
	VFMADD213PD Y2, Y0, Y1; \
	VBROADCASTSD exps<>+0x60(SB), Y2; \
	VFMADD213PD Y2, Y0, Y1; \
	VBROADCASTSD exps<>+0x68(SB), Y2; \
	VFMADD213PD Y2, Y0, Y1; \
	VFMADD213PD Y12, Y0, Y1; \
	VMULPD Y1, Y0, Y0; \
	VADDPD Y11, Y0, Y1; \
	VMULPD Y1, Y0, Y0; \
	VADDPD Y11, Y0, Y1; \
	VMULPD Y1, Y0, Y0; \
	VADDPD Y11, Y0, Y1; \
	VMULPD Y1, Y0, Y0; \
	VADDPD Y11, Y0, Y1; \
	VFMADD213PD Y12, Y1, Y0; \
	VPMOVSXDQ X5, Y5; \
	VPADDQ Y10, Y5, Y5; \
	VPSLLQ $52, Y5, Y5; \
	VMULPD Y5, Y0, Y0

// func sigmoidLanes(x *float64, n int)
TEXT ·sigmoidLanes(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSD exps<>+0x00(SB), Y15
	VBROADCASTSD exps<>+0x08(SB), Y14
	VBROADCASTSD exps<>+0x10(SB), Y13
	VBROADCASTSD exps<>+0x70(SB), Y12
	VBROADCASTSD exps<>+0x78(SB), Y11
	VPBROADCASTQ exps<>+0x80(SB), Y10
sigmoidLoop:
	SUBQ $4, CX
	JLT  sigmoidDone
	VMOVUPD (DI), Y0
	VMINPD Y0, Y15, Y0           // no number stays no number
	VMAXPD Y0, Y14, Y0
	VXORPD Y13, Y0, Y0
	EXP
	VADDPD Y12, Y0, Y0
	VDIVPD Y0, Y12, Y0
	VMOVUPD Y0, (DI)
	ADDQ $32, DI
	JMP  sigmoidLoop
sigmoidDone:
	VZEROUPPER
	RET

// func expLanes(x *float64, n int)
TEXT ·expLanes(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSD exps<>+0x70(SB), Y12
	VBROADCASTSD exps<>+0x78(SB), Y11
	VPBROADCASTQ exps<>+0x80(SB), Y10
expLoop:
	SUBQ $4, CX
	JLT  expDone
	VMOVUPD (DI), Y0
	EXP
	VMOVUPD Y0, (DI)
	ADDQ $32, DI
	JMP  expLoop
expDone:
	VZEROUPPER
	RET

// func featureLanes(z *[cards]float64, w *pair, x *float64, n int, cell, side *pair, t float64)
TEXT ·featureLanes(SB), NOSPLIT, $0-56
	MOVQ z+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ cell+32(FP), R8
	MOVQ side+40(FP), R9
	VMOVUPD (DI), Y0
	TESTQ CX, CX
	JLE  featureCell
featureLoop:
	VBROADCASTSD (DX), Y1
	VMULPD (SI), Y1, Y1
	VADDPD Y1, Y0, Y0
	ADDQ $64, SI
	ADDQ $8, DX
	DECQ CX
	JNZ  featureLoop
featureCell:
	VMOVUPD (R8), Y1
	TESTQ R9, R9
	JZ   featureWhole
	VMOVUPD (R9), Y2
	VSUBPD Y1, Y2, Y2
	VBROADCASTSD t+48(FP), Y3
	VMULPD Y3, Y2, Y2
	VADDPD Y2, Y1, Y1
featureWhole:
	VADDPD Y1, Y0, Y0
	VMOVUPD Y0, (DI)
	VZEROUPPER
	RET

// func effectLanes(part *[cards]float64, w *pair, x *float64, n int, cell, side *pair, t float64, line *pair,
//	u float64) (e float64)
TEXT ·effectLanes(SB), NOSPLIT, $0-80
	MOVQ part+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ cell+32(FP), R8
	MOVQ side+40(FP), R9
	MOVQ line+56(FP), R10
	VXORPD Y0, Y0, Y0
	TESTQ CX, CX
	JLE  effectCell
effectLoop:
	VBROADCASTSD (DX), Y1
	VMULPD (SI), Y1, Y1
	VADDPD Y1, Y0, Y0
	ADDQ $64, SI
	ADDQ $8, DX
	DECQ CX
	JNZ  effectLoop
effectCell:
	TESTQ R8, R8
	JZ   effectLine
	VBROADCASTSD t+48(FP), Y3
	VBROADCASTSD exps<>+0x70(SB), Y1
	VSUBPD Y3, Y1, Y1            // 1 - t
	VMULPD (R8), Y1, Y1
	VADDPD Y1, Y0, Y0
	TESTQ R9, R9
	JZ   effectLine
	VMULPD (R9), Y3, Y1
	VADDPD Y1, Y0, Y0
effectLine:
	TESTQ R10, R10
	JZ   effectSum
	VBROADCASTSD u+64(FP), Y1
	VMULPD (R10), Y1, Y1
	VADDPD Y1, Y0, Y0
effectSum:
	VMULPD (DI), Y0, Y0
	VXORPD X2, X2, X2
	VADDSD X0, X2, X2
	VUNPCKHPD X0, X0, X1
	VADDSD X1, X2, X2
	VEXTRACTF128 $1, Y0, X0
	VADDSD X0, X2, X2
	VUNPCKHPD X0, X0, X1
	VADDSD X1, X2, X2
	VZEROUPPER
	VMOVSD X2, e+72(FP)
	RET

// func belowLanes(edges *float64, n int, v float64) (below int)
TEXT ·belowLanes(SB), NOSPLIT, $0-32
	MOVQ edges+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSD v+16(FP), Y0
	XORQ AX, AX
belowLoop:
	SUBQ $4, CX
	JLT  belowTail
	VMOVUPD (SI), Y1
	VCMPPD $1, Y0, Y1, Y1        // edge < v
	VMOVMSKPD Y1, DX
	POPCNTL DX, DX
	ADDQ DX, AX
	ADDQ $32, SI
	JMP  belowLoop
belowTail:
	ADDQ $4, CX
	JZ   belowDone
belowNext:
	VMOVSD (SI), X1
	VCMPSD $1, X0, X1, X1
	VMOVQ X1, DX
	SUBQ DX, AX
	ADDQ $8, SI
	DECQ CX
	JNZ  belowNext
belowDone:
	VZEROUPPER
	MOVQ AX, below+24(FP)
	RET

#include "textflag.h"

// See vector.go for what each function computes and in which order.

DATA ahead<>+0(SB)/8, $-1
DATA ahead<>+8(SB)/8, $-1
DATA ahead<>+16(SB)/8, $-1
DATA ahead<>+24(SB)/8, $-1
DATA ahead<>+32(SB)/8, $0
DATA ahead<>+40(SB)/8, $0
DATA ahead<>+48(SB)/8, $0
DATA ahead<>+56(SB)/8, $0
GLOBL ahead<>(SB), RODATA|NOPTR, $64

// func dotAVX2(a, b *float64, n int) float64
TEXT ·dotAVX2(SB), NOSPLIT, $0-32
	MOVQ   a+0(FP), SI
	MOVQ   b+8(FP), DI
	MOVQ   n+16(FP), BX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	SUBQ   $16, BX
	JLT    rest

sixteen:
	VMOVUPD (SI), Y4
	VMOVUPD 32(SI), Y5
	VMOVUPD 64(SI), Y6
	VMOVUPD 96(SI), Y7
	VMULPD  (DI), Y4, Y4
	VMULPD  32(DI), Y5, Y5
	VMULPD  64(DI), Y6, Y6
	VMULPD  96(DI), Y7, Y7
	VADDPD  Y4, Y0, Y0
	VADDPD  Y5, Y1, Y1
	VADDPD  Y6, Y2, Y2
	VADDPD  Y7, Y3, Y3
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $16, BX
	JGE     sixteen

rest:
	ADDQ $12, BX // four less than the rest
	JLT  tail

four:
	VMOVUPD (SI), Y4
	VMULPD  (DI), Y4, Y4
	VADDPD  Y4, Y0, Y0
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, BX
	JGE     four

tail:
	NEGQ       BX // four less the last ones
	CMPQ       BX, $4
	JEQ        sum
	LEAQ       ahead<>(SB), DX
	VMOVUPD    (DX)(BX*8), Y5
	VMASKMOVPD (SI), Y5, Y4
	VMASKMOVPD (DI), Y5, Y6
	VMULPD     Y6, Y4, Y4
	VADDPD     Y4, Y0, Y0

sum:
	VADDPD       Y1, Y0, Y0
	VADDPD       Y3, Y2, Y2
	VADDPD       Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, ret+24(FP)
	VZEROUPPER
	RET

// func addScaledAVX2(a *float64, w float64, b *float64, n int)
TEXT ·addScaledAVX2(SB), NOSPLIT, $0-32
	MOVQ         a+0(FP), DI
	VBROADCASTSD w+8(FP), Y0
	MOVQ         b+16(FP), SI
	MOVQ         n+24(FP), BX
	SUBQ         $16, BX
	JLT          addrest

addsixteen:
	VMULPD  (SI), Y0, Y1
	VMULPD  32(SI), Y0, Y2
	VMULPD  64(SI), Y0, Y3
	VMULPD  96(SI), Y0, Y4
	VADDPD  (DI), Y1, Y1
	VADDPD  32(DI), Y2, Y2
	VADDPD  64(DI), Y3, Y3
	VADDPD  96(DI), Y4, Y4
	VMOVUPD Y1, (DI)
	VMOVUPD Y2, 32(DI)
	VMOVUPD Y3, 64(DI)
	VMOVUPD Y4, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $16, BX
	JGE     addsixteen

addrest:
	ADDQ $12, BX
	JLT  addtail

addfour:
	VMULPD  (SI), Y0, Y1
	VADDPD  (DI), Y1, Y1
	VMOVUPD Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, BX
	JGE     addfour

addtail:
	ADDQ $4, BX
	JEQ  added

addone:
	VMULSD (SI), X0, X1
	VADDSD (DI), X1, X1
	VMOVSD X1, (DI)
	ADDQ   $8, SI
	ADDQ   $8, DI
	DECQ   BX
	JNE    addone

added:
	VZEROUPPER
	RET

// func productAVX2(out, a, x *float64, rows, stride, n int)
TEXT ·productAVX2(SB), NOSPLIT, $0-48
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ x+16(FP), DX
	MOVQ rows+24(FP), CX
	MOVQ stride+32(FP), R8
	MOVQ n+40(FP), BX
	SHLQ $3, R8
	SUBQ $4, CX
	JLT  single

rows4:
	LEAQ   (SI)(R8*1), R9
	LEAQ   (R9)(R8*1), R10
	LEAQ   (R10)(R8*1), R11
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	XORQ   AX, AX

columns4:
	VMOVUPD (DX)(AX*8), Y4
	VMULPD  (SI)(AX*8), Y4, Y5
	VMULPD  (R9)(AX*8), Y4, Y6
	VMULPD  (R10)(AX*8), Y4, Y7
	VMULPD  (R11)(AX*8), Y4, Y8
	VADDPD  Y5, Y0, Y0
	VADDPD  Y6, Y1, Y1
	VADDPD  Y7, Y2, Y2
	VADDPD  Y8, Y3, Y3
	ADDQ    $4, AX
	CMPQ    AX, BX
	JLT     columns4

	VEXTRACTF128 $1, Y0, X4
	VEXTRACTF128 $1, Y1, X5
	VEXTRACTF128 $1, Y2, X6
	VEXTRACTF128 $1, Y3, X7
	VADDPD       X4, X0, X0
	VADDPD       X5, X1, X1
	VADDPD       X6, X2, X2
	VADDPD       X7, X3, X3
	VHADDPD      X1, X0, X0
	VHADDPD      X3, X2, X2
	VMOVUPD      X0, (DI)
	VMOVUPD      X2, 16(DI)
	LEAQ         (R11)(R8*1), SI
	ADDQ         $32, DI
	SUBQ         $4, CX
	JGE          rows4

single:
	ADDQ $4, CX
	JEQ  multiplied

row1:
	VXORPD Y0, Y0, Y0
	XORQ   AX, AX

columns1:
	VMOVUPD (DX)(AX*8), Y4
	VMULPD  (SI)(AX*8), Y4, Y5
	VADDPD  Y5, Y0, Y0
	ADDQ    $4, AX
	CMPQ    AX, BX
	JLT     columns1

	VEXTRACTF128 $1, Y0, X4
	VADDPD       X4, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, (DI)
	ADDQ         R8, SI
	ADDQ         $8, DI
	DECQ         CX
	JNE          row1

multiplied:
	VZEROUPPER
	RET

// func updateAVX2(a, w, c, x, square, along *float64, rows, n int)
TEXT ·updateAVX2(SB), NOSPLIT, $0-64
	MOVQ a+0(FP), SI
	MOVQ w+8(FP), R8
	MOVQ c+16(FP), R9
	MOVQ x+24(FP), R10
	MOVQ square+32(FP), R11
	MOVQ along+40(FP), R12
	MOVQ rows+48(FP), CX
	MOVQ n+56(FP), BX

updaterow:
	VBROADCASTSD (R8), Y0
	VXORPD       Y1, Y1, Y1
	VXORPD       Y2, Y2, Y2
	XORQ         AX, AX

updatecolumns:
	VMULPD  (R9)(AX*8), Y0, Y3
	VMOVUPD (SI)(AX*8), Y4
	VSUBPD  Y3, Y4, Y4
	VMOVUPD Y4, (SI)(AX*8)
	VMULPD  Y4, Y4, Y5
	VMULPD  (R10)(AX*8), Y4, Y6
	VADDPD  Y5, Y1, Y1
	VADDPD  Y6, Y2, Y2
	ADDQ    $4, AX
	CMPQ    AX, BX
	JLT     updatecolumns

	VEXTRACTF128 $1, Y1, X4
	VEXTRACTF128 $1, Y2, X5
	VADDPD       X4, X1, X1
	VADDPD       X5, X2, X2
	VHADDPD      X2, X1, X1
	VMOVLPD      X1, (R11)
	VMOVHPD      X1, (R12)
	LEAQ         (SI)(BX*8), SI
	ADDQ         $8, R8
	ADDQ         $8, R11
	ADDQ         $8, R12
	DECQ         CX
	JNE          updaterow
	VZEROUPPER
	RET

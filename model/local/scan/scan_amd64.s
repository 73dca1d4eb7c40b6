#include "textflag.h"

DATA full<>+0(SB)/4, $0x437f0000 // 255 in single precision
GLOBL full<>(SB), RODATA|NOPTR, $4

// func boundAVX2(r *Range, q, most, factor float32, t *Table)
// Two registers of eight cells each; the 16 results are packed to bytes.
TEXT ·boundAVX2(SB), NOSPLIT, $0-32
	MOVQ         r+0(FP), SI
	VBROADCASTSS q+8(FP), Y0
	VBROADCASTSS most+12(FP), Y1
	VBROADCASTSS factor+16(FP), Y2
	MOVQ         t+24(FP), DI
	VBROADCASTSS full<>(SB), Y3
	VXORPS       Y4, Y4, Y4
	VMOVUPS      0(SI), Y5
	VMOVUPS      32(SI), Y6
	VSUBPS       Y0, Y5, Y5     // low - q
	VSUBPS       Y0, Y6, Y6
	VSUBPS       64(SI), Y0, Y7 // q - high
	VSUBPS       96(SI), Y0, Y8
	VMAXPS       Y7, Y5, Y5
	VMAXPS       Y8, Y6, Y6
	VMAXPS       Y4, Y5, Y5
	VMAXPS       Y4, Y6, Y6
	VMULPS       Y5, Y5, Y5
	VMULPS       Y6, Y6, Y6
	VMINPS       Y1, Y5, Y5
	VMINPS       Y1, Y6, Y6
	VMULPS       Y2, Y5, Y5
	VMULPS       Y2, Y6, Y6
	VMINPS       Y3, Y5, Y5
	VMINPS       Y3, Y6, Y6
	VCVTTPS2DQ   Y5, Y5
	VCVTTPS2DQ   Y6, Y6
	VPACKUSDW    Y6, Y5, Y5     // words of cells 0-3, 8-11, 4-7, 12-15
	VPERMQ       $0xd8, Y5, Y5
	VEXTRACTI128 $1, Y5, X6
	VPACKUSWB    X6, X5, X5
	VMOVDQU      X5, (DI)
	VZEROUPPER
	RET

// func sumUpAVX2(codes *uint8, wide int, features *uint32, tables *Table, n int, sums *uint8, groups int,
//	least *[Lanes]uint8)
TEXT ·sumUpAVX2(SB), NOSPLIT, $0-64
	MOVQ  codes+0(FP), SI
	MOVQ  wide+8(FP), DX
	SHLQ  $7, DX
	MOVQ  features+16(FP), R8
	MOVQ  tables+24(FP), R9
	MOVQ  n+32(FP), R10
	MOVQ  sums+40(FP), DI
	MOVQ  groups+48(FP), CX
	MOVQ  least+56(FP), R11
	VMOVDQU (R11), Y6

group:
	VMOVDQU 0(DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	MOVQ    R9, AX
	XORQ    BX, BX

feature:
	MOVL           (R8)(BX*4), R12
	SHLQ           $7, R12
	ADDQ           SI, R12
	VBROADCASTI128 (AX), Y4
	VPSHUFB        0(R12), Y4, Y5
	VPADDUSB       Y5, Y0, Y0
	VPSHUFB        32(R12), Y4, Y5
	VPADDUSB       Y5, Y1, Y1
	VPSHUFB        64(R12), Y4, Y5
	VPADDUSB       Y5, Y2, Y2
	VPSHUFB        96(R12), Y4, Y5
	VPADDUSB       Y5, Y3, Y3
	ADDQ           $16, AX
	INCQ           BX
	CMPQ           BX, R10
	JLT            feature

	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VPMINUB Y1, Y0, Y0
	VPMINUB Y3, Y2, Y2
	VPMINUB Y2, Y0, Y0
	VPMINUB Y0, Y6, Y6
	ADDQ    DX, SI
	ADDQ    $128, DI
	DECQ    CX
	JNZ     group

	VMOVDQU Y6, (R11)
	VZEROUPPER
	RET

// func maskAVX2(sums *[Group]uint8, limit uint8, masks *[Group / 64]uint64)
TEXT ·maskAVX2(SB), NOSPLIT, $0-24
	MOVQ         sums+0(FP), SI
	VPBROADCASTB limit+8(FP), Y0
	MOVQ         masks+16(FP), DI
	VPMINUB      0(SI), Y0, Y1
	VPCMPEQB     0(SI), Y1, Y1
	VPMOVMSKB    Y1, AX
	VPMINUB      32(SI), Y0, Y1
	VPCMPEQB     32(SI), Y1, Y1
	VPMOVMSKB    Y1, BX
	SHLQ         $32, BX
	ORQ          BX, AX
	MOVQ         AX, 0(DI)
	VPMINUB      64(SI), Y0, Y1
	VPCMPEQB     64(SI), Y1, Y1
	VPMOVMSKB    Y1, AX
	VPMINUB      96(SI), Y0, Y1
	VPCMPEQB     96(SI), Y1, Y1
	VPMOVMSKB    Y1, BX
	SHLQ         $32, BX
	ORQ          BX, AX
	MOVQ         AX, 8(DI)
	VZEROUPPER
	RET

// func measureAVX2(places *int32, quads *Quad, n int, list *int32, count int, out *int64)
// Four features at a time, whose terms are added as whole numbers of double precision, which is exact in any order.
TEXT ·measureAVX2(SB), NOSPLIT, $0-48
	MOVQ     places+0(FP), SI
	MOVQ     quads+8(FP), R8
	MOVQ     n+16(FP), R10
	MOVQ     list+24(FP), R9
	MOVQ     count+32(FP), CX
	MOVQ     out+40(FP), DI
	MOVQ     R10, DX
	SHLQ     $4, DX       // bytes of a record
	VPCMPEQD X7, X7, X7
	VPSLLD   $31, X7, X7  // absent places

record:
	MOVLQSX (R9), AX
	IMULQ   DX, AX
	ADDQ    SI, AX
	MOVQ    R8, BX
	MOVQ    R10, R11
	VXORPD  Y0, Y0, Y0

quad:
	VMOVDQU    (AX), X1
	VPCMPEQD   X7, X1, X2
	VPMOVSXDQ  X2, Y2
	VCVTDQ2PD  X1, Y1
	VSUBPD     0(BX), Y1, Y1
	VMULPD     Y1, Y1, Y1
	VMINPD     32(BX), Y1, Y1
	VMULPD     64(BX), Y1, Y1
	VMOVUPD    96(BX), Y3
	VBLENDVPD  Y2, Y3, Y1, Y1
	VADDPD     Y1, Y0, Y0
	ADDQ       $16, AX
	ADDQ       $128, BX
	DECQ       R11
	JNZ        quad

	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VUNPCKHPD    X0, X0, X1
	VADDSD       X1, X0, X0
	VCVTTSD2SIQ  X0, AX
	MOVQ         AX, (DI)
	ADDQ         $4, R9
	ADDQ         $8, DI
	DECQ         CX
	JNZ          record

	VZEROUPPER
	RET

#include "textflag.h"

// The lengths n of chunks are multiples of 32 and above 0; see chunk.go for what each function computes.

// func standardiseAVX2(z, d, up, r *float64, inverse float64, n int)
TEXT ·standardiseAVX2(SB), NOSPLIT, $0-48
	MOVQ         z+0(FP), DI
	MOVQ         d+8(FP), SI
	MOVQ         up+16(FP), DX
	MOVQ         r+24(FP), CX
	VBROADCASTSD inverse+32(FP), Y0
	MOVQ         n+40(FP), BX
	XORQ         AX, AX

standardise:
	VMULPD  (CX)(AX*8), Y0, Y1
	VMULPD  32(CX)(AX*8), Y0, Y2
	VMOVUPD Y1, (DI)(AX*8)
	VMOVUPD Y2, 32(DI)(AX*8)
	VMULPD  Y1, Y1, Y1
	VMULPD  Y2, Y2, Y2
	VADDPD  (DX)(AX*8), Y1, Y1
	VADDPD  32(DX)(AX*8), Y2, Y2
	VMOVUPD Y1, (SI)(AX*8)
	VMOVUPD Y2, 32(SI)(AX*8)
	ADDQ    $8, AX
	CMPQ    AX, BX
	JLT     standardise
	VZEROUPPER
	RET

// func projectAVX2(to, from, z *float64, l float64, n int)
TEXT ·projectAVX2(SB), NOSPLIT, $0-40
	MOVQ         to+0(FP), DI
	MOVQ         from+8(FP), SI
	MOVQ         z+16(FP), DX
	VBROADCASTSD l+24(FP), Y0
	MOVQ         n+32(FP), BX
	XORQ         AX, AX

project:
	VMULPD  (DX)(AX*8), Y0, Y1
	VMULPD  32(DX)(AX*8), Y0, Y2
	VMOVUPD (SI)(AX*8), Y3
	VMOVUPD 32(SI)(AX*8), Y4
	VSUBPD  Y1, Y3, Y3
	VSUBPD  Y2, Y4, Y4
	VMOVUPD Y3, (DI)(AX*8)
	VMOVUPD Y4, 32(DI)(AX*8)
	ADDQ    $8, AX
	CMPQ    AX, BX
	JLT     project
	VZEROUPPER
	RET

// func binsOfAVX2(bins *int16, d *float64, scale, shift float64, n int)
TEXT ·binsOfAVX2(SB), NOSPLIT, $0-40
	MOVQ         bins+0(FP), DI
	MOVQ         d+8(FP), SI
	VBROADCASTSD scale+16(FP), Y0
	VBROADCASTSD shift+24(FP), Y1
	MOVQ         n+32(FP), BX
	XORQ         AX, AX
	MOVL         $1024, CX              // latticeGrid
	VCVTSI2SDL   CX, X2, X2
	VBROADCASTSD X2, Y2
	MOVL         $1023, CX
	VMOVD        CX, X3
	VPBROADCASTW X3, X3
	VPXOR        X4, X4, X4

bins:
	VMULPD      (SI)(AX*8), Y0, Y5
	VMULPD      32(SI)(AX*8), Y0, Y6
	VADDPD      Y1, Y5, Y5
	VADDPD      Y1, Y6, Y6
	VMINPD      Y5, Y2, Y5               // NaN stays, and is the least number below
	VMINPD      Y6, Y2, Y6
	VCVTTPD2DQY Y5, X5
	VCVTTPD2DQY Y6, X6
	VPACKSSDW   X6, X5, X5
	VPMINSW     X3, X5, X5
	VPMAXSW     X4, X5, X5
	VMOVDQU     X5, (DI)(AX*2)
	ADDQ        $8, AX
	CMPQ        AX, BX
	JLT         bins
	VZEROUPPER
	RET

// func countBandAVX2(marks, bins *int16, below, high int16, n int) (from, beyond uint32)
TEXT ·countBandAVX2(SB), NOSPLIT, $0-40
	MOVQ         marks+0(FP), DI
	MOVQ         bins+8(FP), SI
	VPBROADCASTW below+16(FP), Y0
	VPBROADCASTW high+18(FP), Y1
	MOVQ         n+24(FP), BX
	XORQ         AX, AX
	VPXOR        Y2, Y2, Y2              // 16 counts of bins from the band on
	VPXOR        Y3, Y3, Y3              // and beyond it
	VPCMPEQW     Y4, Y4, Y4
	VPSRLW       $15, Y4, Y4             // ones

band:
	VMOVDQU  (SI)(AX*2), Y5
	VMOVDQU  32(SI)(AX*2), Y6
	VPCMPGTW Y0, Y5, Y7
	VPCMPGTW Y0, Y6, Y8
	VPCMPGTW Y1, Y5, Y9
	VPCMPGTW Y1, Y6, Y10
	VPSUBW   Y7, Y2, Y2
	VPSUBW   Y9, Y3, Y3
	VPXOR    Y7, Y9, Y7
	VPSUBW   Y8, Y2, Y2
	VPSUBW   Y10, Y3, Y3
	VPXOR    Y8, Y10, Y8
	VPOR     (DI)(AX*2), Y7, Y7
	VPOR     32(DI)(AX*2), Y8, Y8
	VMOVDQU  Y7, (DI)(AX*2)
	VMOVDQU  Y8, 32(DI)(AX*2)
	ADDQ     $32, AX
	CMPQ     AX, BX
	JLT      band

	VPMADDWD     Y4, Y2, Y2
	VPMADDWD     Y4, Y3, Y3
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y2, Y2 // sums of a lane: from, beyond, from, beyond
	VEXTRACTI128 $1, Y2, X3
	VPADDD       X3, X2, X2
	VMOVD        X2, AX
	MOVL         AX, from+32(FP)
	VPEXTRD      $1, X2, AX
	MOVL         AX, beyond+36(FP)
	VZEROUPPER
	RET

// func markWordsAVX2(words *uint32, marks *int16, n int)
TEXT ·markWordsAVX2(SB), NOSPLIT, $0-24
	MOVQ words+0(FP), DI
	MOVQ marks+8(FP), SI
	MOVQ n+16(FP), BX
	XORQ AX, AX

words:
	VMOVDQU   (SI)(AX*2), Y0
	VPACKSSWB 32(SI)(AX*2), Y0, Y0
	VPERMQ    $0xD8, Y0, Y0
	VPMOVMSKB Y0, DX
	MOVL      DX, (DI)
	ADDQ      $4, DI
	ADDQ      $32, AX
	CMPQ      AX, BX
	JLT       words
	VZEROUPPER
	RET

// The bits of 0 to 15, twice, and the mask of the lower halves of bytes.
DATA bitsof<>+0(SB)/8, $0x0302020102010100
DATA bitsof<>+8(SB)/8, $0x0403030203020201
DATA bitsof<>+16(SB)/8, $0x0302020102010100
DATA bitsof<>+24(SB)/8, $0x0403030203020201
GLOBL bitsof<>(SB), RODATA|NOPTR, $32

// COUNT leaves the bits of each byte of the register in it; T is free.
#define COUNT(R, T) \
	VPSRLW  $4, R, T;  \
	VPAND   Y0, R, R;  \
	VPAND   Y0, T, T;  \
	VPSHUFB R, Y1, R;  \
	VPSHUFB T, Y1, T;  \
	VPADDB  T, R, R

// func onesOfAVX2(a, b *uint64, n int) int
// n is a multiple of 16 and above 0.
TEXT ·onesOfAVX2(SB), NOSPLIT, $0-32
	MOVQ         a+0(FP), SI
	MOVQ         b+8(FP), DI
	MOVQ         n+16(FP), BX
	MOVL         $0x0F0F0F0F, AX
	VMOVD        AX, X0
	VPBROADCASTD X0, Y0
	VMOVDQU      bitsof<>(SB), Y1
	VPXOR        Y2, Y2, Y2
	VPXOR        Y3, Y3, Y3

ones:
	VMOVDQU (SI), Y4
	VMOVDQU 32(SI), Y5
	VMOVDQU 64(SI), Y6
	VMOVDQU 96(SI), Y7
	VPAND   (DI), Y4, Y4
	VPAND   32(DI), Y5, Y5
	VPAND   64(DI), Y6, Y6
	VPAND   96(DI), Y7, Y7
	COUNT(Y4, Y8)
	COUNT(Y5, Y9)
	COUNT(Y6, Y10)
	COUNT(Y7, Y11)
	VPADDB  Y5, Y4, Y4
	VPADDB  Y7, Y6, Y6
	VPADDB  Y6, Y4, Y4
	VPSADBW Y3, Y4, Y4
	VPADDQ  Y4, Y2, Y2
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $16, BX
	JNE     ones

	VEXTRACTI128 $1, Y2, X4
	VPADDQ       X4, X2, X2
	VPSRLDQ      $8, X2, X4
	VPADDQ       X4, X2, X2
	VMOVQ        X2, ret+24(FP)
	VZEROUPPER
	RET

// func matchAVX2(a *uint64, codes *uint8, code uint8, n int)
// n words, above 0.
TEXT ·matchAVX2(SB), NOSPLIT, $0-32
	MOVQ         a+0(FP), DI
	MOVQ         codes+8(FP), SI
	VPBROADCASTB code+16(FP), Y0
	MOVQ         n+24(FP), BX

match:
	VPCMPEQB  (SI), Y0, Y1
	VPCMPEQB  32(SI), Y0, Y2
	VPMOVMSKB Y1, AX
	VPMOVMSKB Y2, DX
	SHLQ      $32, DX
	ORQ       DX, AX
	MOVQ      AX, (DI)
	ADDQ      $64, SI
	ADDQ      $8, DI
	DECQ      BX
	JNE       match
	VZEROUPPER
	RET

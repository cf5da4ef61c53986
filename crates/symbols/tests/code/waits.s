# Loops as compilers and people write them, one instruction at a time.
        .text
        .macro function name
        .globl \name
        .type \name, @function
\name:
        .cfi_startproc
        .endm
        .macro done name
        .cfi_endproc
        .size \name, . - \name
        .endm

# The load is at the bottom, the test at the top.
        function wait_rotated
        movl (%rdi), %eax
        jmp 2f
        .p2align 4
1:      movl (%rdi), %eax
2:      testl %eax, %eax
        je 1b
        ret
        done wait_rotated

# A counter that counts down in a register that a call would lose.
        function wait_counting_down
        movl $1000, %ecx
1:      cmpl $0, (%rdi)
        jne 2f
        decl %ecx
        jnz 1b
2:      ret
        done wait_counting_down

# A bit of the flag is tested and set.
        function wait_bit
1:      lock btsl $3, (%rdi)
        jc 1b
        ret
        done wait_bit

# The frame pointer is a register like others.
        function wait_with_rbp
        push %rbp
        xorl %ebp, %ebp
1:      addl $1, %ebp
        cmpl $5000, %ebp
        je 2f
        movq 8(%rsi), %rax
        cmpl $0, 4(%rax)
        je 1b
2:      pop %rbp
        ret
        done wait_with_rbp

# One byte of a word, loaded into a part of a register.
        function wait_byte
1:      movb (%rdi), %al
        testb %al, %al
        je 1b
        ret
        done wait_byte

# A lock is taken from one value to another.
        function wait_cmpxchg
        movl $1, %edx
1:      xorl %eax, %eax
        lock cmpxchgl %edx, (%rdi)
        jne 1b
        ret
        done wait_cmpxchg

# A walk along a list.
        function work_walk
1:      movq (%rdi), %rdi
        testq %rdi, %rdi
        jne 1b
        ret
        done work_walk

# A walk in two steps.
        function work_walk_in_two
1:      movq 8(%rdi), %rax
        movq (%rax), %rdi
        testq %rdi, %rdi
        jne 1b
        ret
        done work_walk_in_two

# An atomic maximum.
        function work_maximum
        movl (%rdi), %eax
1:      cmpl %esi, %eax
        jge 2f
        lock cmpxchgl %esi, (%rdi)
        jne 1b
2:      ret
        done work_maximum

# A sum of a flag that is read again and again.
        function work_sum_of_one
        xorl %eax, %eax
1:      addl (%rdi), %eax
        cmpl $0, (%rsi)
        je 1b
        ret
        done work_sum_of_one

# A random number, and a flag.
        function work_random
        movl $1, %eax
1:      imull $1103515245, %eax, %eax
        addl $12345, %eax
        cmpl $0, (%rdi)
        je 1b
        ret
        done work_random

# A worker that looks for a task and lets some time pass in between, before it sleeps (OpenBLAS); the way in leads past the first look.
        function wait_for_task
        pushq %rbx
        movq %rdi, %rbx
1:      rdtsc
        movl %eax, %ecx
        cmpq $1, (%rbx)
        jbe 3f
        movq %rbx, %rdi
        call *8(%rbx)
        jmp 1b
2:      cmpq $1, (%rbx)
        ja 1b
3:      .rept 8
        .byte 0x90
        .endr
        rdtsc
        subl %ecx, %eax
        cmpl 16(%rbx), %eax
        jbe 2b
        call sleep_for_task
        jmp 1b
        popq %rbx
        ret
        done wait_for_task

# LLVM's OpenMP: a loop that does this and that, pauses, and asks a procedure for the time.
        .hidden read_time_stamp
        function read_time_stamp
        rdtsc
        shlq $32, %rdx
        orq %rdx, %rax
        ret
        done read_time_stamp

        function mixed_pausing_loop
        pushq %rbx
        movq %rdi, %rbx
1:      call *8(%rbx)
        testl %eax, %eax
        jne 2f
        movl $1, 16(%rbx)
        pause
call_time_stamp:
        call read_time_stamp
        cmpq %rax, 24(%rbx)
        ja 1b
2:      popq %rbx
        ret
        done mixed_pausing_loop

# The same in a loop that works, beside one that pauses.
        function mixed_working_loop
        pushq %rbx
        movq %rdi, %rbx
1:      call *8(%rbx)
        testl %eax, %eax
        jne 3f
        movl $1, 16(%rbx)
2:      pause
        cmpl $0, 20(%rbx)
        je 2b
call_time_stamp_at_work:
        call read_time_stamp
        cmpq %rax, 24(%rbx)
        ja 1b
3:      popq %rbx
        ret
        done mixed_working_loop

        .section .note.GNU-stack, "", @progbits

! Late senders and a barrier in Fortran, of two ranks. Rank 1 computes 45 ms of its own processor time in `compute_late` before each
! of 10 messages to rank 0, which receives each from whichever rank sends, in turn with MPI_Recv and with MPI_Irecv and MPI_Wait,
! and computes 5 ms in `compute_early` before: rank 0 waits 10 × (45 − 5) = 400 ms for rank 1. Then rank 1 computes 250 ms in
! `compute_last`, for which rank 0 waits at a barrier.
! Made with -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08 it is the same program by another interface.
program fortran_ring
#ifdef USE_MPI
    use mpi
#endif
#ifdef USE_MPI_F08
    use mpi_f08
#endif
    implicit none
#ifdef MPIF_H
    include 'mpif.h'
#endif
    integer, parameter :: rounds = 10
    integer :: rank, round, error
    integer :: value(1)
#ifdef USE_MPI_F08
    type(MPI_Comm) :: swapped
    type(MPI_Request) :: request
#else
    integer :: swapped, request
#endif

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    ! The ranks change places.
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, swapped, error)
    do round = 1, rounds
        value(1) = round
        if (rank == 1) then
            call compute_late()
            call MPI_Send(value, 1, MPI_INTEGER, 1, 7, swapped, error)
        else if (rank == 0) then
            call compute_early()
            value(1) = 0
            if (mod(round, 2) == 0) then
                call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, swapped, MPI_STATUS_IGNORE, error)
            else
                call MPI_Irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, swapped, request, error)
                call MPI_Wait(request, MPI_STATUS_IGNORE, error)
            end if
            if (value(1) /= round) stop 1
        end if
    end do
    if (rank == 1) call compute_last()
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Finalize(error)

contains

    subroutine compute_late()
        call burn(0.045d0)
    end subroutine

    subroutine compute_early()
        call burn(0.005d0)
    end subroutine

    subroutine compute_last()
        call burn(0.250d0)
    end subroutine

    subroutine burn(seconds)
        double precision, intent(in) :: seconds
        double precision :: begin, now
        integer :: step
        integer, volatile :: cell
        call cpu_time(begin)
        now = begin
        do while (now - begin < seconds)
            do step = 1, 100000
                cell = step
            end do
            call cpu_time(now)
        end do
    end subroutine
end program

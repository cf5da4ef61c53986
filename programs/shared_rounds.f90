! A datum that one thread writes and all others read, between barriers: (threads - 1) x (rounds - 1) transfers,
! as each reader fetches it once a round, and its first time is no transfer.
module exchange
   implicit none
   ! The element in the middle has a cache line that nothing else is on.
   integer(8) :: lines(64) = 0
contains
   subroutine hand_on(thread, round)
      integer, intent(in) :: thread, round
      if (thread == 0) lines(32) = round
   end subroutine

   subroutine take(thread, total)
      integer, intent(in) :: thread
      integer(8), intent(inout) :: total
      if (thread /= 0) total = total + lines(32)
   end subroutine
end module

program shared_rounds
   use exchange
   use omp_lib
   implicit none
   character(32) :: word
   integer :: threads, rounds, thread, round
   integer(8) :: total

   call get_command_argument(1, word)
   read (word, *) threads
   call get_command_argument(2, word)
   read (word, *) rounds
   !$omp parallel num_threads(threads) private(thread, round, total)
   thread = omp_get_thread_num()
   total = 0
   do round = 1, rounds
      call hand_on(thread, round)
      !$omp barrier
      call take(thread, total)
      !$omp barrier
   end do
   if (thread /= 0 .and. total /= int(rounds, 8) * (rounds + 1) / 2) error stop 1
   !$omp end parallel
end program

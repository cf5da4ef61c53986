// Every OpenMP construct that the agent looks at, and its neighbours: the sums are known.
#include <omp.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <string>
#include <atomic>
struct Fat { std::vector<int> v; std::string s; alignas(64) long a; Fat():v(100,3),s("hello world, a long string indeed"),a(7){} Fat(const Fat&o):v(o.v),s(o.s),a(o.a){} };
int main(){ long total=0; omp_set_max_active_levels(3);
 #pragma omp parallel num_threads(3) reduction(+:total)
 { 
  #pragma omp for schedule(dynamic,3)
  for(int i=0;i<1000;i++) total+=i;
  #pragma omp for schedule(guided) nowait
  for(int i=0;i<1000;i++) total+=i;
  #pragma omp sections
  {
   #pragma omp section
   total+=1;
   #pragma omp section
   total+=2;
  }
  #pragma omp parallel num_threads(2) reduction(+:total)
  { total+=10; 
   #pragma omp barrier
   total+=1; }
  #pragma omp critical
  total+=1;
  #pragma omp critical(named)
  total+=1;
 }
 printf("%ld\n", total);
 long t2=0; Fat f; 
 #pragma omp parallel num_threads(3)
 {
  #pragma omp single
  { for(int i=0;i<300;i++){
   #pragma omp task firstprivate(f,i) shared(t2)
   { long x=f.a+f.v[i%100]+(long)f.s.size()+((size_t)&f.a%64);
     #pragma omp atomic
     t2+=x+i; 
     #pragma omp task firstprivate(i) shared(t2)
     { 
       #pragma omp atomic
       t2+=i; }
     #pragma omp taskwait
   } }
   int a=0,b=0;
   #pragma omp task depend(out:a) shared(a)
   a=5;
   #pragma omp task depend(in:a) depend(out:b) shared(a,b)
   b=a*2;
   #pragma omp taskgroup
   { 
    #pragma omp task shared(t2)
    { 
      #pragma omp atomic
      t2+=100; }
   }
   #pragma omp taskwait
   #pragma omp atomic
   t2+=a+b;
   #pragma omp taskloop grainsize(10) shared(t2)
   for(int i=0;i<100;i++) { 
     #pragma omp atomic
     t2+=i; }
   long r=0; unsigned long long u=0;
   #pragma omp taskloop grainsize(7) firstprivate(f) reduction(+:r)
   for(long i=-50;i<50;i++) r+=i+f.v[0]+f.a;
   #pragma omp taskloop num_tasks(5) reduction(+:u)
   for(unsigned long long i=0;i<90;i++) u+=i;
   #pragma omp taskloop nogroup firstprivate(f) if(0) shared(t2)
   for(int i=0;i<10;i++) { 
     #pragma omp atomic
     t2+=f.v[i]; }
   printf("%ld %llu\n", r, u);
   #pragma omp task if(0) shared(t2)
   t2+=1;
   #pragma omp task final(1) untied shared(t2)
   { 
     #pragma omp atomic
     t2+=1; 
     #pragma omp taskyield
   }
  } }
 printf("%ld\n", t2);
 omp_lock_t l; omp_init_lock(&l); omp_nest_lock_t n; omp_init_nest_lock(&n); long c=0, d=0;
 #pragma omp parallel num_threads(4)
 for(int i=0;i<1000;i++){ if(i%2) omp_set_lock(&l); else while(!omp_test_lock(&l)); c++; omp_unset_lock(&l); omp_set_nest_lock(&n); omp_set_nest_lock(&n); d++; omp_unset_nest_lock(&n); omp_unset_nest_lock(&n); }
 printf("%ld %ld\n", c,d);
 long o=0;
 #pragma omp parallel for ordered schedule(dynamic) num_threads(3)
 for(int i=0;i<100;i++){ 
  #pragma omp ordered
  o=o*3+i; }
 printf("%ld\n", o);
 long e=0;
 #pragma omp parallel for schedule(runtime) num_threads(3) reduction(+:e)
 for(int i=0;i<100;i++) e+=i;
 #pragma omp parallel sections num_threads(2)
 { 
 #pragma omp section
 { 
 #pragma omp atomic
 e+=3; }
 #pragma omp section
 { 
 #pragma omp atomic
 e+=4; }
 }
 long double ld=0;
 #pragma omp parallel num_threads(3)
 for(int i=0;i<100;i++) { 
  #pragma omp atomic
  ld+=i; }
 printf("%ld %Lf\n", e, ld);
 #pragma omp parallel num_threads(3)
 { 
  #pragma omp for
  for(int i=0;i<100;i++){ 
    #pragma omp cancel for if(i==50)
  }
  #pragma omp cancellation point parallel
 }
 int s=0;
 #pragma omp parallel num_threads(3)
 { int q;
  #pragma omp single copyprivate(q)
  q=9;
  #pragma omp atomic
  s+=q; }
 printf("%d\n", s);
 return 3; }

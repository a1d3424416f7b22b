// SPDX-License-Identifier: MIT
// A region belongs to a thread, so a goroutine with a region must be locked to its thread.
package main

/*
#include <stdlib.h>
#include "probe.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

func own() (caught bool) {
	defer func() { caught = recover() != nil }()
	var nothing *int
	*nothing = 1
	return
}

func region() int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	probe := C.malloc(4096)
	defer C.free(probe)
	if e := C.probe_begin(probe); e != 0 {
		return int(e)
	}
	C.probe_cut(probe)
	runtime.Gosched()
	time.Sleep(time.Microsecond)
	base := *(*unsafe.Pointer)(unsafe.Add(probe, C.probe_map_offset()))
	bytes := unsafe.Slice((*byte)(base), 8*4096)
	sum := 0
	for _, b := range bytes { // by Go's own instructions
		sum += int(b)
	}
	return int(C.probe_end(probe)) + sum
}

// The region of one thread, ended by another: an error, and the first thread can still end it.
func elsewhere() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	probe := C.malloc(4096)
	defer C.free(probe)
	if C.probe_begin(probe) != 0 {
		return false
	}
	ended := make(chan C.int)
	go func() {
		runtime.LockOSThread() // another thread, because the caller's is locked
		ended <- C.probe_end(probe)
	}()
	return <-ended == 20 && C.probe_end(probe) == 22
}

// Without locking, the goroutine may have moved: then ending the region returns an error.
func unlocked() bool {
	probe := C.malloc(4096) // never freed: a region that was not ended stays in its thread's list
	if C.probe_begin(probe) != 0 {
		return false
	}
	runtime.Gosched()
	time.Sleep(time.Microsecond)
	end := C.probe_end(probe)
	return end == 20 || end == 22
}

func main() {
	if C.probe_install() != 0 || C.probe_all() != 0 || !own() || C.probe_all() != 0 {
		os.Exit(1)
	}
	var wait sync.WaitGroup
	wrong := make(chan int, 16)
	locked := os.Args[1] == "locked"
	if !locked && !elsewhere() {
		os.Exit(3)
	}
	for g := 0; g < 8; g++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := 0; i < 50; i++ {
				if !locked {
					if !unlocked() || !own() {
						wrong <- -1
						return
					}
				} else if e := region(); e != 0 || !own() {
					wrong <- e
					return
				}
			}
		}()
	}
	wait.Wait()
	select {
	case e := <-wrong:
		fmt.Println("wrong", e)
		os.Exit(2)
	default:
		fmt.Println("good")
	}
}

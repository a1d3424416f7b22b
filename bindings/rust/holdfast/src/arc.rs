// SPDX-License-Identifier: MIT
//! `Arc` and `Weak`.
//!
//! ```text
//! allocation   | padding | strong | weak | value ...
//!              ^ start             4      ^ the pointer that Arc and Weak hold
//! ```
//!
//! The counts stand right in front of the value, whatever its type: so an `Arc` of a trait object
//! or of a slice is a pointer to that, and `into_raw` has nothing to compute.
//!
//! Invariants
//!   A1  The value lives while `strong` is not 0. The thread that makes it 0 drops or moves the
//!       value.
//!   A2  The memory lives while `weak` is not 0. All strong references together have one of `weak`,
//!       which whoever made `strong` 0 gives back. A count that has saturated never is 0: it leaks.
//!   A3  `weak` is 0, and the memory alive, only while a thread that has a strong reference, and no
//!       other thread, asks whether it is the only one (`is_unique`). It found 1 before, so there
//!       is no `Weak`; who makes one, by `downgrade`, waits for that long.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::{forget, size_of, ManuallyDrop};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::{self, NonNull};

use crate::count::{spin_loop, Count};

#[repr(C)]
pub(crate) struct Counts {
    pub(crate) strong: Count,
    pub(crate) weak: Count,
}

/// The layout of the allocation, and where in it the value begins.
fn layout_for(value: Layout) -> (Layout, usize) {
    // Larger than what an allocation can be: `Layout` says so.
    let (layout, offset) = Layout::new::<Counts>().extend(value).expect("an object of that size");
    (layout.pad_to_align(), offset)
}

/// Memory for a value, with counts of one each in front of it.
fn allocate(value: Layout) -> *mut u8 {
    let (layout, offset) = layout_for(value);
    // SAFETY: the layout has the counts, so it is not empty; they end where the value begins, for
    // their size is a multiple of their alignment, and `offset` is one of both alignments.
    unsafe {
        let start = alloc(layout);
        if start.is_null() {
            handle_alloc_error(layout);
        }
        let data = start.add(offset);
        let counts = data.sub(size_of::<Counts>()) as *mut Counts;
        counts.write(Counts { strong: Count::new(1), weak: Count::new(1) });
        data
    }
}

/// # Safety
///
/// `data` is of `allocate()`, and its memory is alive.
#[inline]
unsafe fn counts<'a, T: ?Sized>(data: NonNull<T>) -> &'a Counts {
    &*((data.as_ptr() as *mut u8).sub(size_of::<Counts>()) as *const Counts)
}

/// A pointer with the address of `to` and the length or vtable of `like`.
fn with_address<T: ?Sized>(like: *mut T, to: *mut u8) -> *mut T {
    let mut pointer = like;
    // SAFETY: a pointer begins with its address, whether it is thin or wide; looked at below.
    unsafe { (&mut pointer as *mut *mut T as *mut *mut u8).write(to) };
    assert_eq!(pointer as *mut u8, to);
    pointer
}

/// A pointer to a value that several threads own: [`std::sync::Arc`] with a count that can't be
/// overflowed into a use after free.
///
/// `std`'s aborts the process when its count comes near to its end. This one *saturates*: from 2^31
/// references on the object is never dropped or freed; the first such misuse of a process is
/// reported on standard error ([`crate::report`]), and the program goes on. That takes a leak of
/// references (`mem::forget`, a cycle), so what is lost is what the program had lost already.
///
/// The count has 4 bytes. An operation on it is a call of the C library: one atomic instruction and
/// a few more.
///
/// ```
/// use holdfast::Arc;
///
/// let shared = Arc::new(vec![1, 2, 3]);
/// let other = Arc::clone(&shared);
/// std::thread::spawn(move || assert_eq!(other.len(), 3)).join().unwrap();
/// assert_eq!(Arc::strong_count(&shared), 1);
/// ```
///
/// Values of any size come from a [`Box`], a `Vec`, or a `&str`:
///
/// ```
/// use holdfast::Arc;
///
/// let text: Arc<str> = "shared".into();
/// let call: Arc<dyn Fn(i32) -> i32 + Send + Sync> = Arc::from_box(Box::new(|x| x + 1));
/// assert_eq!((&*text, call(1)), ("shared", 2));
/// ```
///
/// It is shared between threads only if its value may be:
///
/// ```compile_fail,E0277
/// use holdfast::Arc;
///
/// let not_sync = Arc::new(std::cell::Cell::new(1));
/// std::thread::spawn(move || not_sync.set(2));
/// ```
///
/// What it lends does not outlive it:
///
/// ```compile_fail,E0505
/// use holdfast::Arc;
///
/// let shared = Arc::new(String::from("gone"));
/// let lent: &str = &shared;
/// drop(shared);
/// println!("{}", lent);
/// ```
pub struct Arc<T: ?Sized> {
    data: NonNull<T>,
    owns: PhantomData<T>,
}

// SAFETY: as for std's: whoever has an Arc can read the value, and may come to drop it.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for Arc<T> {}

/// A reference to the value of an [`Arc`] that does not keep it alive, only its memory.
///
/// [`upgrade`](Weak::upgrade) gives an `Arc` while there still is one. Two saturating counts stand
/// behind it, of strong and of weak references.
///
/// Not an `rcuref`, whose `get` would be one unconditional add where `upgrade` is a loop of
/// compare-and-swaps. The contract of its `put` is that the memory outlives the put by a grace
/// period: between the subtraction that found no reference left and the compare-and-swap that makes
/// the object dead, another thread may upgrade, drop, and free it. Here memory is freed at once.
/// Each drop of an `Arc` would have to hold a weak reference meanwhile, two more atomic operations,
/// to make an upgrade cheaper, which is rarer.
///
/// ```
/// use holdfast::{Arc, Weak};
///
/// let strong = Arc::new(5);
/// let weak: Weak<i32> = Arc::downgrade(&strong);
/// assert_eq!(*weak.upgrade().unwrap(), 5);
/// drop(strong);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct Weak<T: ?Sized> {
    /// Of an object; or of none, and then the address `NOWHERE`.
    data: NonNull<T>,
}

// SAFETY: as for Arc, which it can become.
unsafe impl<T: ?Sized + Sync + Send> Send for Weak<T> {}
unsafe impl<T: ?Sized + Sync + Send> Sync for Weak<T> {}

/// No object begins at the last address.
const NOWHERE: usize = usize::MAX;

impl<T> Arc<T> {
    /// Moves a value into a new `Arc`.
    #[inline]
    pub fn new(value: T) -> Arc<T> {
        let data = allocate(Layout::new::<T>()) as *mut T;
        // SAFETY: fresh memory for a T, whose counts are 1.
        unsafe {
            data.write(value);
            Arc::from_data(data)
        }
    }

    /// The same, pinned.
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value does not move before it is dropped: only try_unwrap() and make_mut() do
        // that, and a Pin gives no access to them unless T is Unpin.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// The value, if this is the only strong reference; else the `Arc` back.
    ///
    /// # Errors
    ///
    /// There is another `Arc`, or the count has saturated.
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        // SAFETY: alive, for `this` is.
        if !unsafe { counts(this.data) }.strong.dec_if_one() {
            return Err(this);
        }
        // SAFETY: A1: this thread made it 0, so the value is its.
        unsafe {
            let value = ptr::read(this.data.as_ptr());
            drop(Weak { data: this.data }); // A2
            forget(this);
            Ok(value)
        }
    }

    /// The value, if this was the last strong reference. Of several threads that call it, each with
    /// one of all references, exactly one gets it, which `try_unwrap` does not promise.
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let this = ManuallyDrop::new(this);
        // SAFETY: as above.
        unsafe {
            if !counts(this.data).strong.dec_and_test() {
                return None;
            }
            let value = ptr::read(this.data.as_ptr());
            drop(Weak { data: this.data });
            Some(value)
        }
    }
}

impl<T: ?Sized> Arc<T> {
    /// # Safety
    ///
    /// `data` is of `allocate()`, is initialised, and a reference of `strong` is the caller's.
    #[inline]
    unsafe fn from_data(data: *mut T) -> Arc<T> {
        Arc { data: NonNull::new_unchecked(data), owns: PhantomData }
    }

    #[inline]
    pub(crate) fn counts(&self) -> &Counts {
        // SAFETY: alive, for self is.
        unsafe { counts(self.data) }
    }

    /// Moves the value of a `Box` into a new `Arc`: of any type, also a trait object.
    pub fn from_box(value: Box<T>) -> Arc<T> {
        let layout = Layout::for_value(&*value);
        let data = allocate(layout);
        let from = Box::into_raw(value);
        // SAFETY: the bytes move; the box's memory is freed without a drop, as Box would, unless
        // there is none.
        unsafe {
            ptr::copy_nonoverlapping(from as *const u8, data, layout.size());
            if layout.size() != 0 {
                dealloc(from as *mut u8, layout);
            }
            Arc::from_data(with_address(from, data))
        }
    }

    /// A pointer to the value. Valid while there is a strong reference.
    #[inline]
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        this.data.as_ptr()
    }

    /// Gives up the `Arc` without dropping its reference: [`from_raw`](Arc::from_raw) has it back.
    /// A pointer to a wider type, as `*const dyn Trait`, may be made of it in between.
    #[inline]
    pub fn into_raw(this: Arc<T>) -> *const T {
        ManuallyDrop::new(this).data.as_ptr()
    }

    /// An `Arc` of what [`into_raw`](Arc::into_raw) returned.
    ///
    /// # Safety
    ///
    /// The pointer is of `into_raw`, each of which gives one `Arc`. It has been changed to another
    /// type at most by unsizing, or to one of the same size and alignment for which the value is
    /// valid too.
    #[inline]
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        Arc::from_data(pointer as *mut T)
    }

    /// How many strong references are there? The answer may be stale; `usize::MAX`: the count has
    /// saturated.
    pub fn strong_count(this: &Arc<T>) -> usize {
        usize::try_from(this.counts().strong.read()).unwrap_or(usize::MAX)
    }

    /// How many weak references are there? As [`strong_count`](Arc::strong_count).
    pub fn weak_count(this: &Arc<T>) -> usize {
        // Less that of the strong ones; 0 while another thread asks whether it is the only one.
        usize::try_from(this.counts().weak.read()).map_or(usize::MAX, |weak| weak.saturating_sub(1))
    }

    /// Do both point to the same value?
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        this.data.as_ptr() as *const u8 == other.data.as_ptr() as *const u8
    }

    /// A [`Weak`] of the same value.
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        // A3. It comes after what that thread has seen of `strong`: acquire.
        while !this.counts().weak.inc_not_zero_acquire() {
            spin_loop();
        }
        Weak { data: this.data }
    }

    /// Is there no other reference, strong or weak? Then there will be none while `this` is
    /// borrowed.
    fn is_unique(this: &mut Arc<T>) -> bool {
        let counts = this.counts();
        // No Weak: then one comes to be only by downgrade(), which waits now (A3). It acquires what
        // the last drop of a Weak has released.
        if !counts.weak.dec_if_one() {
            return false;
        }
        // Whoever has dropped an Arc has released it; and so also whatever it downgraded before.
        let unique = counts.strong.read_acquire() == 1;
        counts.weak.set_release(1);
        unique
    }

    /// The value for writing, if there is no other reference, strong or weak.
    #[inline]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        if !Arc::is_unique(this) {
            return None;
        }
        // SAFETY: no other reference, and none can be made without `this`.
        Some(unsafe { this.data.as_mut() })
    }
}

impl<T: Clone> Arc<T> {
    /// The value for writing: a clone of it, in an `Arc` of its own, if there are other references.
    /// If those are weak the value moves, and they find it gone.
    pub fn make_mut(this: &mut Arc<T>) -> &mut T {
        if !Arc::is_unique(this) {
            if this.counts().strong.dec_if_one() {
                // A1: this thread has the value; `Weak`s share the memory.
                let old = Weak { data: this.data };
                let data = allocate(Layout::new::<T>()) as *mut T;
                // SAFETY: the value moves into its own memory. If allocate() panics `this` is not
                // used again: that aborts.
                unsafe {
                    ptr::copy_nonoverlapping(old.data.as_ptr(), data, 1);
                    ptr::write(this, Arc::from_data(data));
                }
            } else {
                let value = T::clone(this);
                *this = Arc::new(value);
            }
        }
        // SAFETY: the only reference.
        unsafe { this.data.as_mut() }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    /// One more reference. Ordering: none.
    #[inline]
    fn clone(&self) -> Arc<T> {
        self.counts().strong.inc();
        Arc { data: self.data, owns: PhantomData }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    /// One reference less; the last one drops the value. Ordering: release, and acquire for the
    /// last.
    #[inline]
    fn drop(&mut self) {
        if self.counts().strong.dec_and_test() {
            // The memory is freed even if the value's drop panics.
            let _memory = Weak { data: self.data }; // A2
                                                    // SAFETY: A1.
            unsafe { ptr::drop_in_place(self.data.as_ptr()) };
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: A1.
        unsafe { self.data.as_ref() }
    }
}

impl<T> Weak<T> {
    /// One without a value: `upgrade` gives none.
    pub const fn new() -> Weak<T> {
        // SAFETY: not null.
        Weak { data: unsafe { NonNull::new_unchecked(NOWHERE as *mut T) } }
    }
}

impl<T: ?Sized> Weak<T> {
    #[inline]
    fn counts(&self) -> Option<&Counts> {
        if self.data.as_ptr() as *mut u8 as usize == NOWHERE {
            return None;
        }
        // SAFETY: A2.
        Some(unsafe { counts(self.data) })
    }

    /// An [`Arc`] of the value, if it lives. Ordering: acquire.
    pub fn upgrade(&self) -> Option<Arc<T>> {
        if !self.counts()?.strong.inc_not_zero_acquire() {
            return None;
        }
        Some(Arc { data: self.data, owns: PhantomData })
    }

    /// As [`Arc::strong_count`]; 0: the value is gone, or there never was one.
    pub fn strong_count(&self) -> usize {
        self.counts()
            .map_or(0, |counts| usize::try_from(counts.strong.read()).unwrap_or(usize::MAX))
    }

    /// Are both of the same value, or both of none?
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.data.as_ptr() as *const u8 == other.data.as_ptr() as *const u8
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[inline]
    fn clone(&self) -> Weak<T> {
        if let Some(counts) = self.counts() {
            counts.weak.inc(); // not 0: A3, for there is a Weak
        }
        Weak { data: self.data }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[inline]
    fn drop(&mut self) {
        match self.counts() {
            Some(counts) if counts.weak.dec_and_test() => (),
            _ => return,
        }
        // SAFETY: A2: no reference is left. The value is dropped; its size and alignment are those
        // of its type, or in the pointer.
        unsafe {
            let (layout, offset) = layout_for(Layout::for_value(self.data.as_ref()));
            dealloc((self.data.as_ptr() as *mut u8).sub(offset), layout);
        }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    fn from(value: Box<T>) -> Arc<T> {
        Arc::from_box(value)
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    fn from(mut values: Vec<T>) -> Arc<[T]> {
        let data = allocate(Layout::for_value(&*values)) as *mut T;
        // SAFETY: the elements move; the Vec keeps its memory, and none of them.
        unsafe {
            ptr::copy_nonoverlapping(values.as_ptr(), data, values.len());
            let slice = ptr::slice_from_raw_parts_mut(data, values.len());
            values.set_len(0);
            Arc::from_data(slice)
        }
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    fn from(values: &[T]) -> Arc<[T]> {
        values.to_vec().into()
    }
}

impl From<&str> for Arc<str> {
    fn from(text: &str) -> Arc<str> {
        let bytes: Arc<[u8]> = text.as_bytes().into();
        // SAFETY: the same bytes, and they are UTF-8.
        unsafe { Arc::from_raw(Arc::into_raw(bytes) as *const str) }
    }
}

impl From<String> for Arc<str> {
    fn from(text: String) -> Arc<str> {
        text.as_str().into()
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Arc<[T]> {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.data, f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state)
    }
}

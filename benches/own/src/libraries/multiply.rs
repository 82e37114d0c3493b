//! Karatsuba's multiplication of long numbers: by the school's method below how many limbs?

pub use crate::random::words as number;

/// The product of two numbers of equally many limbs, the least limb first; halves are multiplied by
/// Karatsuba's method while they have more than `threshold` limbs.
pub fn multiply(x: &[u32], y: &[u32], threshold: usize) -> Vec<u32> {
    let mut product = vec![0; 2 * x.len()];
    karatsuba(x, y, &mut product, threshold.max(4));
    product
}

/// Adds nothing: `product` is overwritten, and as long as both factors.
fn karatsuba(x: &[u32], y: &[u32], product: &mut [u32], threshold: usize) {
    let n = x.len();
    if n <= threshold {
        return school(x, y, product);
    }
    let half = n.div_ceil(2);
    let ((x0, x1), (y0, y1)) = (x.split_at(half), y.split_at(half));
    let (low, high) = product.split_at_mut(2 * half);
    karatsuba(x0, y0, low, threshold);
    karatsuba(x1, y1, high, threshold);
    // (x0 + x1)(y0 + y1) = x0 y0 + x1 y1 + what belongs in the middle.
    let (xs, ys) = (sum(x0, x1), sum(y0, y1));
    let mut middle = vec![0; 2 * xs.len()];
    karatsuba(&xs, &ys, &mut middle, threshold);
    subtract(&mut middle, low);
    subtract(&mut middle, high);
    // Its highest limbs are zero.
    let used = middle.len() - middle.iter().rev().take_while(|limb| **limb == 0).count();
    add(&mut product[half..], &middle[..used]);
}

fn school(x: &[u32], y: &[u32], product: &mut [u32]) {
    product.fill(0);
    for (place, factor) in x.iter().enumerate() {
        let mut carry = 0;
        for (limb, other) in product[place..].iter_mut().zip(y) {
            let value = u64::from(*limb) + u64::from(*factor) * u64::from(*other) + carry;
            *limb = value as u32;
            carry = value >> 32;
        }
        product[place + y.len()] = carry as u32;
    }
}

/// One limb longer than the first, which is not shorter than the second.
fn sum(x: &[u32], y: &[u32]) -> Vec<u32> {
    let mut sum = Vec::with_capacity(x.len() + 1);
    sum.extend_from_slice(x);
    sum.push(0);
    add(&mut sum, y);
    sum
}

fn add(to: &mut [u32], x: &[u32]) {
    let mut carry = 0;
    for (place, limb) in to.iter_mut().enumerate() {
        if place >= x.len() && carry == 0 {
            break;
        }
        let value = u64::from(*limb) + x.get(place).copied().map_or(0, u64::from) + carry;
        *limb = value as u32;
        carry = value >> 32;
    }
}

fn subtract(from: &mut [u32], x: &[u32]) {
    let mut borrow = false;
    for (place, limb) in from.iter_mut().enumerate() {
        if place >= x.len() && !borrow {
            break;
        }
        let (value, first) = limb.overflowing_sub(x.get(place).copied().unwrap_or(0));
        let (value, second) = value.overflowing_sub(u32::from(borrow));
        *limb = value;
        borrow = first || second;
    }
}

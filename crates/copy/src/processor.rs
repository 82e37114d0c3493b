//! Which processor this is, in the words of a platform line: models are only of one.

#![allow(unsafe_code, reason = "`cpuid` is an unsafe call before Rust 1.93")]

/// Whether a platform line, such as `threads nodes=1 cpu="AMD EPYC" cache="L1d:48K L2:1M"`, is of
/// this processor: its name, and its first two caches of data.
pub(crate) fn is_described_by(platform: &str) -> bool {
    let Some((name, caches)) = identity() else { return false };
    let quoted = |key: &str| platform.split_once(&format!("{key}=\""))?.1.split('"').next();
    quoted("cpu") == Some(&name)
        && quoted("cache").is_some_and(|text| caches.iter().all(|cache| text.split(' ').any(|c| c == cache)))
}

#[cfg(not(target_arch = "x86_64"))]
fn identity() -> Option<(String, Vec<String>)> {
    None
}

/// The processor's name, and its caches as `L1d:48K`.
#[cfg(target_arch = "x86_64")]
fn identity() -> Option<(String, Vec<String>)> {
    #[allow(unused_unsafe, reason = "safe from Rust 1.93 on")]
    let cpuid = |leaf: u32, sub: u32| {
        // SAFETY: every x86_64 has the instruction, and it changes nothing.
        unsafe { std::arch::x86_64::__cpuid_count(leaf, sub) }
    };
    let most = cpuid(0x8000_0000, 0).eax;
    if most < 0x8000_0004 {
        return None;
    }
    let bytes: Vec<u8> = (0x8000_0002..=0x8000_0004)
        .map(|leaf| cpuid(leaf, 0))
        .flat_map(|part| [part.eax, part.ebx, part.ecx, part.edx])
        .flat_map(u32::to_le_bytes)
        .take_while(|byte| *byte != 0)
        .collect();
    let name = String::from_utf8(bytes).ok()?.trim().to_owned();
    // Intel describes its caches in leaf 4; AMD in another one of the same form.
    let vendor = cpuid(0, 0);
    let intel = vendor.ebx == u32::from_le_bytes(*b"Genu");
    let leaf = if intel { 4 } else { 0x8000_001D };
    if (intel && vendor.eax < leaf) || (!intel && most < leaf) {
        return None;
    }
    let mut caches = Vec::new();
    for sub in 0..8 {
        let cache = cpuid(leaf, sub);
        // 1 is data, 2 instructions, 3 both; 0 ends the list.
        let (kind, level) = (cache.eax & 31, cache.eax >> 5 & 7);
        if kind == 0 {
            break;
        }
        let part = |from: u32, bits: u32| u64::from(cache.ebx >> from & ((1 << bits) - 1)) + 1;
        let size = part(0, 12) * part(12, 10) * part(22, 10) * (u64::from(cache.ecx) + 1);
        let size = if size.is_multiple_of(1 << 20) {
            format!("{}M", size >> 20)
        } else {
            format!("{}K", size >> 10)
        };
        match (level, kind) {
            (1, 1) => caches.push(format!("L1d:{size}")),
            (2, 3) => caches.push(format!("L2:{size}")),
            _ => {}
        }
    }
    (!name.is_empty() && !caches.is_empty()).then_some((name, caches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_describes_one_processor() {
        assert!(!is_described_by(""));
        assert!(!is_described_by("threads cpu=\"\" cache=\"\""));
        let Some((name, caches)) = identity() else { return };
        let line = |name: &str, caches: &str| format!("threads cpu=\"{name}\" cache=\"{caches}\" os=any");
        assert!(is_described_by(&line(&name, &format!("{} L1i:32K L3:7M", caches.join(" ")))));
        assert!(!is_described_by(&line(&name, "L1d:1K L2:2K")), "{caches:?}");
        assert!(!is_described_by(&line("Another", &caches.join(" "))), "{name}");
    }
}

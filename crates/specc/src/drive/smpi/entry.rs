
/// What SMPI calls in each process that it simulates.
#[unsafe(export_name = "main")]
extern "C" fn __strata_smpi_main(_: i32, _: *const *const u8) -> i32 {
    unsafe extern "C" {
        fn _exit(status: i32) -> !;
    }
    let status = std::panic::catch_unwind(|| std::process::Termination::report(main()));
    let _ = std::io::Write::flush(&mut std::io::stdout());
    match status {
        // The number is not told in another way.
        Ok(code) => format!("{code:?}").chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(1),
        // SAFETY: ends all processes, of which others may wait for this one.
        Err(_) => unsafe { _exit(101) },
    }
}

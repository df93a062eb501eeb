#if Inspector
  import Foundation

  /// The clocks of the machine, where they come in.
  enum Clocks {
    /// The wall clock, for people to read.
    static var now: Date { Date() }

    /// A function that says whether so much time has passed since this call.
    static func limit(_ duration: Duration) -> @Sendable () -> Bool {
      let end = ContinuousClock.now + duration
      return { ContinuousClock.now >= end }
    }

    /// Digits that cannot be guessed.
    static func secret() -> String {
      var generator = SystemRandomNumberGenerator()
      return (0..<4).map { _ in
        let digits = String(generator.next() as UInt64, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }.joined()
    }
  }
#endif

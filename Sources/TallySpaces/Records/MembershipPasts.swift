#if Spaces
  /// The records that stand before each one of a set: a bit for each pair, so that 64 are joined or compared at once.
  /// 4,096 records take two megabytes while they are read.
  struct MembershipPasts {
    /// Some of the records, by their numbers.
    struct Marks {
      fileprivate var words: [(index: Int, bits: UInt64)] = []

      /// Adds a number that is greater than those before it.
      mutating func add(_ number: Int) {
        if words.last?.index != number >> 6 { words.append((number >> 6, 0)) }
        words[words.count - 1].bits |= 1 << UInt64(number & 63)
      }
    }

    /// The row of all records: everything stands before it.
    let all: Int
    private let width: Int
    private var words: [UInt64]

    init(count: Int) {
      (all, width) = (count, (count + 63) / 64)
      words = Array(repeating: 0, count: count * width) + Array(repeating: .max, count: width)
    }

    func contains(_ number: Int, before row: Int) -> Bool {
      words[row * width + (number >> 6)] >> UInt64(number & 63) & 1 == 1
    }

    /// Puts a record, and all before it, before another one. Its own row must be complete.
    mutating func add(_ parent: Int, before row: Int) {
      guard !contains(parent, before: row) else { return }
      let (from, to) = (parent * width, row * width)
      for word in 0...(parent >> 6) { words[to + word] |= words[from + word] }
      words[to + (parent >> 6)] |= 1 << UInt64(parent & 63)
    }

    /// The records that stand before a row and not before another one.
    func numbers(before row: Int, andNotBefore other: Int) -> [Int] {
      var numbers: [Int] = []
      for word in 0..<width {
        var bits = words[row * width + word] & ~words[other * width + word]
        while bits != 0 {
          let number = (word << 6) + bits.trailingZeroBitCount
          if number < all { numbers.append(number) }
          bits &= bits - 1
        }
      }
      return numbers
    }

    /// Whether any of some records stands before a row and not before another one.
    func hasAny(of marks: Marks, before row: Int, andNotBefore other: Int) -> Bool {
      marks.words.contains { words[row * width + $0.index] & ~words[other * width + $0.index] & $0.bits != 0 }
    }
  }
#endif

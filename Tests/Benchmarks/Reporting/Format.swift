import Foundation

/// Quantities as the tables show them.
enum Format {
  /// Sizes repeat, so that a third decimal says something.
  static func ratio(_ ratio: Double, _ quantity: Figure.Quantity = .cpu) -> String {
    String(format: quantity == .bytes ? "%.3f" : "%.2f", ratio)
  }

  static func number(_ number: Double) -> String { String(format: "%g", number) }

  /// The least and the greatest; nothing where they are the same.
  static func range(_ ratios: [Double]) -> String {
    guard let least = ratios.min(), let most = ratios.max(), most - least >= 0.01 else { return "" }
    return "\(ratio(least))–\(ratio(most))"
  }

  static func amount(_ amount: Double, _ quantity: Figure.Quantity) -> String {
    quantity == .bytes ? bytes(amount) : seconds(amount)
  }

  static func bytes(_ bytes: Double) -> String {
    switch bytes {
    case ..<10_000: String(format: "%.0f B", bytes)
    case ..<1_000_000: String(format: "%.1f kB", bytes / 1000)
    default: String(format: "%.2f MB", bytes / 1_000_000)
    }
  }

  static func seconds(_ seconds: Double) -> String {
    seconds < 0.1 ? String(format: "%.1f ms", seconds * 1000) : String(format: "%.2f s", seconds)
  }

  static func memory(_ bytes: Int) -> String { String(format: "%.1f MiB", Double(bytes) / 1_048_576) }

  /// 100,000 as people write it.
  static func count(_ count: Int) -> String {
    let digits = Array(String(count))
    return digits.indices.map { index in
      index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digits[index])" : "\(digits[index])"
    }.joined()
  }
}

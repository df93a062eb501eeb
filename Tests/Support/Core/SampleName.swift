/// The names of generated records. Every second one has a UUID as its key: a store packs such records into deltas, and
/// joins them, by ways of their own.
package enum SampleName {
  /// The name of a record of a type, with a number from 0 to 9.
  package static func name(_ type: String, _ number: Int) -> String {
    precondition((0...9).contains(number))
    return number.isMultiple(of: 2)
      ? "\(type)|~|\(type.lowercased())\(number)" : "\(type)|~|0e1d2c3b-4a59-4687-8978-6a5b4c3d2e0\(number)"
  }
}

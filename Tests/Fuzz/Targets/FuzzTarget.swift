/// One decoder, or what stands behind it, to be fed with bytes.
struct FuzzTarget: Sendable {
  let name: String
  /// Longer inputs than this find nothing more.
  let maximumLength: Int
  /// Bytes to begin with: what the product itself writes.
  let seeds: @Sendable () throws -> [[UInt8]]
  /// Throws `Broken` if a promise does not hold. What the decoder refuses is no fault.
  let run: @Sendable ([UInt8]) throws -> Void

  init(
    _ name: String, maximumLength: Int = 1024, seeds: @autoclosure @escaping @Sendable () throws -> [[UInt8]],
    run: @escaping @Sendable ([UInt8]) throws -> Void
  ) {
    self.name = name
    self.maximumLength = maximumLength
    self.seeds = seeds
    self.run = run
  }

  static let all: [FuzzTarget] = wire + sync + store + tool + relay

  static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A promise that does not hold.
struct Broken: Error {
  let promise: String

  init(_ promise: String) { self.promise = promise }
}

/// States what must be so.
func claim(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
  guard condition else { throw Broken(promise()) }
}

/// What the body returns; nil if it refuses with an error of the kind that it documents. Any other error breaks its
/// promise.
func accepted<T, Refusal: Error>(_ kind: Refusal.Type, _ body: () throws -> T) throws -> T? {
  do {
    return try body()
  } catch is Refusal {
    return nil
  } catch let error as Broken {
    throw error
  } catch {
    throw Broken("an undocumented error: \(type(of: error)) \(error)")
  }
}

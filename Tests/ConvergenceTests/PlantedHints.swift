/// For each planted fault and tier the first seed that notices it. Written by `make planted`.
enum PlantedHints {
  static let seeds: [String: UInt64] = [:]
}

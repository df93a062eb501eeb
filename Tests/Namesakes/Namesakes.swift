// Another module with names of Tally's, as SwiftData has a class `Schema` and RealityKit a class `Entity`.

/// The models of an app, as SwiftData's class of this name.
public final class Schema {
  /// The names of the models.
  public let names: [String]

  /// The schema of models with these names.
  public init(_ names: String...) { self.names = names }
}

/// An object of a scene, as RealityKit's class of this name.
open class Entity {
  /// An entity of nothing.
  public init() {}
}

/// Somebody who is signed in.
public struct Account {
  /// The person's name.
  public var name: String

  /// The account of a person.
  public init(name: String) { self.name = name }
}

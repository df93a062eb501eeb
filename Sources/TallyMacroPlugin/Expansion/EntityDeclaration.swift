#if Macros
  /// The parsed declaration of a struct with `@Entity`.
  struct EntityDeclaration {
    /// One stored property other than `id`.
    struct Property {
      /// As it is written in Swift, perhaps in backticks.
      var name: String
      /// The column's name.
      var column: String
      /// The type, with the struct's name for `Self`.
      var type: String
      /// The default of the declaration.
      var defaultValue: String?
      /// Whether the default is the same for every record, as far as its text tells.
      var isConstant: Bool
      /// Whether the type is written as an optional.
      var isOptional: Bool
      var wireName: String?
      var isCounter: Bool
      /// `.greatest` or `.least`, as it is written.
      var extremum: String?
      /// `from`, `unknown`, `onDelete`, `isIndexed`, `within` and `download`, as they are written.
      var otherArguments: [String]

      /// The default value of the initializer's parameter.
      var initialValue: String? { defaultValue ?? (isOptional ? "nil" : nil) }

      /// The arguments that follow the column's name when it is created.
      var columnArguments: [String] {
        let values = defaultValue.map { ["default: \($0)", "isConstant: \(isConstant)"] } ?? []
        let names = wireName.map { ["wireName: \"\($0)\""] } ?? []
        let merge = isCounter ? ["isCounter: true"] : extremum.map { ["keep: \($0)"] } ?? []
        return values + names + merge + otherArguments
      }
    }

    /// A to-many relationship.
    struct Relationship {
      var column: String
      var target: String
      /// `ordered`, as it is written.
      var options: [String]
    }

    /// The struct's name.
    var name: String
    /// The type of its records.
    var type: String
    /// `public `, `package ` or nothing.
    var access: String
    /// `deleteWins`, `follows` and `unique`, as they are written.
    var options: [String]
    var idDefault: String?
    var properties: [Property] = []
    var relationships: [Relationship] = []
    /// Whether the struct has an initializer of its own, and so needs no other.
    var hasInitializer: Bool
    /// Whether something was refused. What uses the entity elsewhere need not be refused as well.
    var hasErrors = false
  }
#endif

#if Macros
  import SwiftSyntax

  /// The parsed declaration of a property with `@Members`.
  struct MembersDeclaration {
    /// Why it declares no relationship.
    struct Refusal: Error {
      let reason: String
    }

    /// The relationship's name.
    let name: String
    /// The type of its members.
    let target: String
    /// The property's type, as it is written.
    let type: String
    /// `ordered`, as it is written.
    let options: [String]

    static func read(_ variable: VariableDeclSyntax, in entity: String) -> Result<MembersDeclaration, Refusal> {
      guard let binding = variable.bindings.first, variable.bindings.count == 1,
        let pattern = binding.pattern.as(IdentifierPatternSyntax.self)
      else { return .failure(Refusal(reason: "'@Members' belongs to one property")) }
      let name = pattern.identifier.identifier?.name ?? pattern.identifier.text
      guard variable.isStatic, variable.bindingSpecifier.tokenKind == .keyword(.var), binding.initializer == nil,
        binding.accessorBlock == nil
      else {
        return .failure(
          Refusal(reason: "'\(name)' must be a 'static var' without a value: a relationship is no part of a row"))
      }
      guard let type = binding.typeAnnotation?.type, let arguments = type.arguments(of: "Relationship"),
        arguments.count == 2
      else { return .failure(Refusal(reason: "'\(name)' needs the type 'Relationship<\(entity), Target>'")) }
      guard arguments[0] == "Self" || arguments[0].split(separator: ".").last.map(String.init) == entity else {
        return .failure(Refusal(reason: "'\(name)' is declared in \(entity), so it is a relationship of \(entity)"))
      }
      if let reason = EntityReader.refusal(identifier: name) {
        return .failure(Refusal(reason: "'\(name)' cannot be a relationship: \(reason)"))
      }
      return .success(
        MembersDeclaration(
          name: name, target: arguments[1] == "Self" ? entity : arguments[1], type: type.trimmedDescription,
          options: options(variable)))
    }

    private static func options(_ variable: VariableDeclSyntax) -> [String] {
      let arguments = variable.attribute(named: "Members")?.arguments?.as(LabeledExprListSyntax.self)
      return (arguments ?? []).map { $0.with(\.trailingComma, nil).trimmedDescription }
    }
  }
#endif

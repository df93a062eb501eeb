#if Macros
  import SwiftSyntax

  extension VariableDeclSyntax {
    var isStatic: Bool {
      modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
    }

    func attribute(named name: String) -> AttributeSyntax? { attributes.named(name) }
  }

  extension AttributeListSyntax {
    /// The attribute of this name, perhaps with that of our module before it.
    func named(_ name: String) -> AttributeSyntax? {
      for case .attribute(let attribute) in self
      where attribute.attributeName.trimmedDescription.split(separator: ".").last.map(String.init) == name {
        return attribute
      }
      return nil
    }
  }

  extension PatternBindingSyntax {
    /// Whether it has no storage; observers have.
    var isComputed: Bool {
      switch accessorBlock?.accessors {
      case nil: false
      case .getter: true
      case .accessors(let list):
        !list.allSatisfy { [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
      }
    }
  }

  extension AttributeSyntax {
    /// Takes the attribute away.
    func removal(from variable: VariableDeclSyntax, _ what: String) -> Fix {
      var attributes = variable.attributes
      if let index = attributes.firstIndex(where: { $0.trimmedDescription == trimmedDescription }) {
        attributes.remove(at: index)
      }
      var fixed = variable
      fixed.attributes = attributes
      fixed.leadingTrivia = variable.leadingTrivia
      return Fix("Remove \(what)", [.replace(oldNode: Syntax(variable), newNode: Syntax(fixed))])
    }

    /// Takes one argument away, and the attribute with its last one. Nil if it has no such argument.
    func removing(argument label: String, from variable: VariableDeclSyntax) -> Fix? {
      guard let arguments = arguments?.as(LabeledExprListSyntax.self),
        arguments.contains(where: { $0.label?.text == label })
      else { return nil }
      guard arguments.count > 1 else {
        let all = removal(from: variable, "'\(label)'")
        return all
      }
      var rest = Array(arguments.filter { $0.label?.text != label })
      rest[rest.count - 1].trailingComma = nil
      return Fix(
        "Remove '\(label)'",
        [.replace(oldNode: Syntax(arguments), newNode: Syntax(LabeledExprListSyntax(rest)))])
    }
  }
#endif

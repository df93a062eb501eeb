#if Macros
  import SwiftSyntax

  extension TypeSyntaxProtocol {
    /// Whether it is written as an optional; another name for one is not seen.
    var isOptional: Bool { `is`(OptionalTypeSyntax.self) || arguments(of: "Optional") != nil }

    /// The wrapped type of an optional; the type itself if it is not optional.
    var wrapped: TypeSyntax {
      if let type = `as`(OptionalTypeSyntax.self) { return type.wrappedType }
      if let argument = arguments(of: "Optional")?.first { return TypeSyntax(stringLiteral: argument) }
      return TypeSyntax(self)
    }

    /// The type, or nothing.
    var optional: TypeSyntax {
      let isSimple =
        `is`(IdentifierTypeSyntax.self) || `is`(MemberTypeSyntax.self) || `is`(ArrayTypeSyntax.self)
        || `is`(DictionaryTypeSyntax.self)
      return TypeSyntax(stringLiteral: isSimple ? "\(trimmedDescription)?" : "(\(trimmedDescription))?")
    }

    /// The generic arguments of a type of this name, perhaps with a module's name before it.
    func arguments(of name: String) -> [String]? {
      let clause: GenericArgumentClauseSyntax?
      if let type = `as`(IdentifierTypeSyntax.self), type.name.text == name {
        clause = type.genericArgumentClause
      } else if let type = `as`(MemberTypeSyntax.self), type.name.text == name {
        clause = type.genericArgumentClause
      } else {
        return nil
      }
      return clause?.arguments.map { $0.argument.trimmedDescription }
    }

    /// The target type of a reference.
    var recordTarget: String? { arguments(of: "RecordName")?.first }

    /// The target type of a set or array of references.
    var recordCollectionTarget: String? {
      let element =
        wrapped.as(ArrayTypeSyntax.self)?.element.trimmedDescription
        ?? wrapped.arguments(of: "Set")?.first ?? wrapped.arguments(of: "Array")?.first
      return element.flatMap { TypeSyntax(stringLiteral: $0).recordTarget }
    }

    /// Whether it is one of the types that everybody knows, none of which is a reference.
    var isPlain: Bool {
      let plain: Set = [
        "String", "Int", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "Double", "Float", "Bool",
        "Date", "Data", "UUID", "URL", "Decimal",
      ]
      return plain.contains(trimmedDescription) || `is`(ArrayTypeSyntax.self) || `is`(DictionaryTypeSyntax.self)
    }

    /// Whether it is one of the integers that everybody knows and that SQLite holds.
    var isInteger: Bool {
      ["Int", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"].contains(trimmedDescription)
    }

    /// The least value of the type, or a placeholder.
    var emptyValue: String {
      if `is`(ArrayTypeSyntax.self) { return "[]" }
      if `is`(DictionaryTypeSyntax.self) { return "[:]" }
      return switch trimmedDescription {
      case "String": "\"\""
      case "Bool": "false"
      case "Double", "Float", "Decimal": "0"
      case "Date", "Data", "UUID": "\(trimmedDescription)()"
      case let type where type.hasPrefix("Int") || type.hasPrefix("UInt"): "0"
      default: "<#default#>"
      }
    }
  }

  extension SyntaxProtocol {
    /// With the struct's name in place of `Self`, which means something else in a nested type.
    func naming(_ type: String) -> Syntax { SelfNaming(type).rewrite(self) }
  }

  private final class SelfNaming: SyntaxRewriter {
    private let type: String
    init(_ type: String) {
      self.type = type
      super.init()
    }

    override func visit(_ token: TokenSyntax) -> TokenSyntax {
      guard token.tokenKind == .keyword(.Self) else { return token }
      return .identifier(type, leadingTrivia: token.leadingTrivia, trailingTrivia: token.trailingTrivia)
    }
  }
#endif

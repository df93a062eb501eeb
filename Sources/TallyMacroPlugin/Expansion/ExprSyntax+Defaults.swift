#if Macros
  import SwiftSyntax

  extension ExprSyntax {
    /// The text of a literal without interpolation.
    var plainString: String? { `as`(StringLiteralExprSyntax.self)?.representedLiteralValue }

    /// Whether it is the same for every record, as far as its text tells: a literal, an enum's case or a static member.
    var isConstant: Bool {
      if let literal = `as`(StringLiteralExprSyntax.self) { return literal.representedLiteralValue != nil }
      if let array = `as`(ArrayExprSyntax.self) { return array.elements.allSatisfy(\.expression.isConstant) }
      if let prefixed = `as`(PrefixOperatorExprSyntax.self) { return prefixed.expression.isNumber }
      if let member = `as`(MemberAccessExprSyntax.self) { return member.base.map { $0.typeName != nil } ?? true }
      return isNumber || `is`(BooleanLiteralExprSyntax.self) || `is`(NilLiteralExprSyntax.self)
    }

    private var isNumber: Bool { `is`(IntegerLiteralExprSyntax.self) || `is`(FloatLiteralExprSyntax.self) }

    /// The type of a literal, or of what an initializer makes.
    var inferredType: String? {
      if `is`(StringLiteralExprSyntax.self) { return "String" }
      if `is`(IntegerLiteralExprSyntax.self) { return "Int" }
      if `is`(FloatLiteralExprSyntax.self) { return "Double" }
      if `is`(BooleanLiteralExprSyntax.self) { return "Bool" }
      if let prefixed = `as`(PrefixOperatorExprSyntax.self), prefixed.expression.isNumber {
        return prefixed.expression.inferredType
      }
      return calledType
    }

    /// The type of `Type(…)`.
    var calledType: String? { `as`(FunctionCallExprSyntax.self)?.calledExpression.typeName }

    /// The type that the expression's text begins with, which may be its type.
    var base: String? {
      `as`(MemberAccessExprSyntax.self)?.base?.typeName
        ?? `as`(FunctionCallExprSyntax.self)?.calledExpression.as(MemberAccessExprSyntax.self)?.base?.typeName
    }

    /// The source text if it looks like a type's name (it starts with a capital letter); otherwise nil.
    var typeName: String? {
      if let generic = `as`(GenericSpecializationExprSyntax.self) {
        return generic.expression.typeName.map { _ in trimmedDescription }
      }
      if let member = `as`(MemberAccessExprSyntax.self) {
        guard let base = member.base, base.typeName != nil, member.declName.baseName.isCapital else { return nil }
        return trimmedDescription
      }
      guard let reference = `as`(DeclReferenceExprSyntax.self), reference.baseName.isCapital else { return nil }
      return reference.trimmedDescription
    }
  }

  extension TokenSyntax {
    fileprivate var isCapital: Bool { text.first?.isUppercase ?? false }
  }
#endif

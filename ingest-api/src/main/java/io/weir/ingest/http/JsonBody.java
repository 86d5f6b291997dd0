// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.weir.limits.Names;
import io.weir.topics.model.CallEvent;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a body that is one JSON object or an array of objects. For any other body, throws an
 * exception with Weir's own description of the error.
 */
final class JsonBody {
  private static final int MAX_NESTING = 32;

  /** Maximum number of characters of a received name that a problem detail shows. */
  private static final int SHOWN_CHARS = 64;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          // each virtual thread serves one request; a buffer per thread would never be reused
          .recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool())
          // callers choose the names, and the JVM would keep interned names forever
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          // if a body has two members "client", different readers could bill different clients
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder().maxNestingDepth(MAX_NESTING).build())
          .build();

  private JsonBody() {}

  /** Thrown when the route does not accept a request. */
  static final class Invalid extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient Problem problem;

    Invalid(Problem problem) {
      super(problem.detail(), null, false, false);
      this.problem = problem;
    }

    /** Returns the exception for a missing or invalid header field. */
    static Invalid header(String field, String rule) {
      return new Invalid(Problem.ofField(ProblemReason.INVALID_HEADER, field, rule));
    }

    static Invalid member(String member, String rule) {
      return new Invalid(Problem.ofField(ProblemReason.INVALID_MEMBER, member, rule));
    }

    Problem problem() {
      return problem;
    }
  }

  /**
   * Reads the members of an object. {@link JsonBody} itself reads the start and the end of the
   * object.
   */
  interface Members<T> {
    T read(JsonParser json) throws IOException, Invalid;
  }

  /** Reads a body that is one object. */
  static <T> T read(byte[] body, Members<T> members) throws Invalid {
    return read(
        body,
        Shape.OBJECT,
        json -> {
          if (json.currentToken() != JsonToken.START_OBJECT) {
            throw Shape.OBJECT.refused("it is another JSON value");
          }
          T read = members.read(json);
          if (json.currentToken() != JsonToken.END_OBJECT) {
            throw Shape.OBJECT.refused(Shape.OBJECT.endsEarly());
          }
          return read;
        });
  }

  /**
   * One element of an array.
   *
   * @param value the parsed value; null if the element is invalid
   * @param problem the problem of the element; null if it is valid
   */
  record Element<T>(@Nullable T value, @Nullable Problem problem) {}

  /**
   * Reads a body that is an array of objects. Returns a problem for each invalid element. If the
   * body is not a JSON array of objects, the complete body is refused.
   *
   * @param min minimum number of elements, 0 or 1
   * @param max maximum number of elements
   */
  static <T> List<Element<T>> readArray(byte[] body, int min, int max, Members<T> members)
      throws Invalid {
    return read(
        body,
        Shape.ARRAY,
        json -> {
          if (json.currentToken() != JsonToken.START_ARRAY) {
            throw Shape.ARRAY.refused("it is another JSON value");
          }
          List<Element<T>> elements = new ArrayList<>();
          while (json.nextToken() != JsonToken.END_ARRAY) {
            if (elements.size() == max) {
              throw Shape.ARRAY.refused("it has more than " + max + " elements");
            }
            elements.add(element(json, members));
          }
          if (elements.size() < min) {
            throw Shape.ARRAY.refused("it has no element");
          }
          return elements;
        });
  }

  private static <T> Element<T> element(JsonParser json, Members<T> members) throws IOException {
    if (json.currentToken() == null) {
      throw new JsonEOFException(json, JsonToken.NOT_AVAILABLE, "the array is not closed");
    }
    if (json.currentToken() != JsonToken.START_OBJECT) {
      json.skipChildren();
      return new Element<>(
          null, Problem.of(ProblemReason.INVALID_BODY, "the element must be a JSON object"));
    }
    try {
      T value = members.read(json);
      if (json.currentToken() != JsonToken.END_OBJECT) {
        throw new JsonEOFException(json, JsonToken.NOT_AVAILABLE, "the element is not closed");
      }
      return new Element<>(value, null);
    } catch (Invalid invalid) {
      passOver(json);
      return new Element<>(null, invalid.problem());
    }
  }

  /**
   * Skips to the end of the current element of the array, from any nesting depth within the
   * element.
   */
  private static void passOver(JsonParser json) throws IOException {
    while (!json.getParsingContext().inArray() || !json.getParsingContext().getParent().inRoot()) {
      if (json.nextToken() == null) {
        throw new JsonEOFException(json, JsonToken.NOT_AVAILABLE, "the element is not closed");
      }
    }
  }

  /** The required form of a body. */
  private enum Shape {
    OBJECT("one JSON object", "the object"),
    ARRAY("one JSON array of objects", "the array");

    private final String rule;
    private final String noun;

    Shape(String rule, String noun) {
      this.rule = rule;
      this.noun = noun;
    }

    Invalid refused(String fault) {
      return new Invalid(
          Problem.of(
              ProblemReason.INVALID_BODY, "the body must be " + rule + " in UTF-8; " + fault));
    }

    String endsEarly() {
      return "it ends before " + noun + " does";
    }
  }

  /** Reads a complete body and checks that nothing follows its value. */
  private static <T> T read(byte[] body, Shape shape, Members<T> whole) throws Invalid {
    if (!isUtf8(body)) {
      throw shape.refused("it has bytes that are not UTF-8");
    }
    try (JsonParser json = JSON.createParser(body)) {
      try {
        if (json.nextToken() == null) {
          throw shape.refused("it is empty");
        }
        T read = whole.read(json);
        if (json.nextToken() != null) {
          throw shape.refused("there is more text after " + shape.noun);
        }
        return read;
      } catch (JsonProcessingException notJson) {
        throw shape.refused(fault(json, shape, notJson));
      }
    } catch (IOException impossible) {
      throw new IllegalStateException("reading from memory failed", impossible);
    }
  }

  /**
   * Returns whether the bytes are valid UTF-8 (RFC 8259 §8.1) without a NUL byte; JSON allows NUL
   * only in escaped form. The parser does not check these rules. The parser also accepts UTF-16,
   * and overlong forms in member names. Another reader could refuse such a body or read it
   * differently.
   */
  private static boolean isUtf8(byte[] bytes) {
    boolean ascii = true;
    for (byte b : bytes) {
      if (b == 0) {
        return false;
      }
      ascii &= b > 0;
    }
    if (ascii) {
      return true;
    }
    try {
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPORT)
          .decode(ByteBuffer.wrap(bytes));
      return true;
    } catch (CharacterCodingException malformed) {
      return false;
    }
  }

  private static String fault(JsonParser json, Shape shape, JsonProcessingException notJson)
      throws IOException {
    if (notJson instanceof JsonEOFException) {
      return shape.endsEarly();
    }
    if (notJson instanceof StreamConstraintsException) {
      return "it is nested more than "
          + MAX_NESTING
          + " deep, or has a name or number that is too long";
    }
    // only the library's message distinguishes this error
    if (notJson.getOriginalMessage().startsWith("Duplicate field")) {
      return "it has the member " + shown(json.currentName()) + " twice";
    }
    JsonLocation at = notJson.getLocation();
    return at == null
        ? "it is not JSON"
        : "it is not JSON at line " + at.getLineNr() + ", column " + at.getColumnNr();
  }

  /** Returns a received text in the form for the detail of a problem. A long text is truncated. */
  static String shown(String name) {
    if (name.length() <= SHOWN_CHARS) {
      return name;
    }
    // the truncation must not divide a surrogate pair
    int end =
        Character.isHighSurrogate(name.charAt(SHOWN_CHARS - 1)) ? SHOWN_CHARS - 1 : SHOWN_CHARS;
    return name.substring(0, end) + "...";
  }

  /**
   * Handles an unknown member.
   *
   * @param known the known members, as text
   */
  static void unknown(JsonParser json, String member, String known, UnknownMembers mode)
      throws IOException, Invalid {
    if (mode == UnknownMembers.REFUSE) {
      String shown = shown(member);
      throw new Invalid(
          Problem.ofField(
              ProblemReason.UNKNOWN_MEMBER, shown, "is unknown; the known members are " + known));
    }
    json.skipChildren();
  }

  static String text(JsonParser json, JsonToken value, String member) throws IOException, Invalid {
    if (value != JsonToken.VALUE_STRING) {
      throw Invalid.member(member, "must be a string");
    }
    return json.getText();
  }

  static String name(JsonParser json, JsonToken value, String member) throws IOException, Invalid {
    String name = text(json, value, member);
    String violation = Names.violation(name);
    if (violation != null) {
      throw Invalid.member(member, violation);
    }
    return name;
  }

  /** Returns an integer from {@code min} to {@link CallEvent#MAX_QUANTITY}, both inclusive. */
  static long units(JsonParser json, JsonToken value, String member, long min)
      throws IOException, Invalid {
    if (value == JsonToken.VALUE_NUMBER_INT
        && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
        && json.getLongValue() >= min
        && json.getLongValue() <= CallEvent.MAX_QUANTITY) {
      return json.getLongValue();
    }
    throw Invalid.member(
        member, "must be an integer from " + min + " to " + CallEvent.MAX_QUANTITY);
  }
}

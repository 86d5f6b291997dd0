// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.limits.Names;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The templates of an application's routes. The templates give endpoints their names. So the number
 * of names does not depend on the paths that callers request. Immutable.
 *
 * <p>A template is a line {@code METHOD /path}. {@code {name}} matches one segment, a final {@code
 * *} matches one or more segments, and the method {@code *} matches any method. Empty lines and
 * lines that begin with {@code #} are ignored. For each segment, a literal has precedence over
 * {@code {name}}, and {@code {name}} over {@code *}. Among templates with the same path, a named
 * method has precedence over {@code *}. Paths are compared in their {@link PathForm} and are
 * case-sensitive.
 */
final class RouteTemplates {
  /** Maximum number of templates. Each template takes a few hundred bytes of memory. */
  public static final int MAX_TEMPLATES = 10_000;

  /** If a call matches no template, its endpoint's name consists of the method and this text. */
  public static final String OTHER_PATHS = "other";

  /** The name for methods that are neither standard nor in a template. */
  static final String OTHER_METHODS = "OTHER";

  /** The methods of RFC 9110, and PATCH. */
  private static final List<String> USUAL_METHODS =
      List.of("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH");

  private static final String ANY = "*";
  private static final Pattern LINE = Pattern.compile("(\\S+)[ \\t]+(/\\S*)");
  private static final Pattern METHOD = Pattern.compile("[A-Z][A-Z0-9_-]{0,31}");
  private static final Pattern PARAMETER = Pattern.compile("\\{[A-Za-z_][A-Za-z0-9_.-]*}");
  private static final Pattern SPECIAL = Pattern.compile("[{}*;?#]");

  /**
   * An empty set of templates. Every endpoint's name then consists of its method and {@value
   * #OTHER_PATHS}.
   */
  public static final RouteTemplates NONE = RouteTemplates.parse("");

  private final Set<String> methods;
  private final int size;
  private final Node root;

  private RouteTemplates(Set<String> methods, int size, Node root) {
    this.methods = methods;
    this.size = size;
    this.root = root;
  }

  /** A node of the tree of templates, reached by a sequence of segments. */
  private static final class Node {
    private final Map<String, Node> literals = new HashMap<>();
    private @Nullable Node parameter;

    /** Names of endpoints for paths that end at this node, by method. */
    private final Map<String, String> here = new HashMap<>();

    /**
     * Names of endpoints for paths that have one or more further segments after this node, by
     * method.
     */
    private final Map<String, String> beyond = new HashMap<>();
  }

  private record Template(int line, String method, String path, List<String> segments) {
    boolean hasRest() {
      return !segments.isEmpty() && segments.get(segments.size() - 1).equals(ANY);
    }
  }

  /** Thrown when a line is not a valid template. The message names the line and the rule. */
  public static final class InvalidTemplateException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    InvalidTemplateException(int line, String rule) {
      super("line " + line + ": " + rule);
    }
  }

  /**
   * Parses templates, one per line.
   *
   * @throws InvalidTemplateException if a line is invalid or repeats another one
   */
  public static RouteTemplates parse(String text) {
    List<Template> templates = new ArrayList<>();
    int number = 0;
    for (String line : text.lines().map(String::strip).toList()) {
      number++;
      if (!line.isEmpty() && !line.startsWith("#")) {
        templates.add(template(number, line));
      }
      if (templates.size() > MAX_TEMPLATES) {
        throw new InvalidTemplateException(
            number, "there must be at most " + MAX_TEMPLATES + " templates");
      }
    }
    return of(templates);
  }

  private static RouteTemplates of(List<Template> templates) {
    Set<String> methods = new TreeSet<>(USUAL_METHODS);
    templates.stream()
        .map(Template::method)
        .filter(name -> !ANY.equals(name))
        .forEach(methods::add);
    Node root = new Node();
    Map<String, Integer> shapes = new HashMap<>();
    Map<Template, Map<String, String>> places = new LinkedHashMap<>();
    for (Template template : templates) {
      String shape = template.method + ' ' + shape(template.segments);
      Integer before = shapes.putIfAbsent(shape, template.line);
      if (before != null) {
        throw new InvalidTemplateException(
            template.line,
            "the template matches the same paths as line " + before + "; give each template once");
      }
      places.put(template, place(root, template));
    }
    places.forEach((template, place) -> addNamed(template, place));
    // named methods have precedence, whatever their position in the file
    places.forEach((template, place) -> addAny(template, place, methods));
    return new RouteTemplates(methods, templates.size(), root);
  }

  private static Template template(int number, String line) {
    var parts = LINE.matcher(line);
    if (!parts.matches()) {
      throw new InvalidTemplateException(
          number, "must be METHOD /path, such as GET /v1/items/{id}, but is '" + line + "'");
    }
    String method = parts.group(1);
    if (!METHOD.matcher(method).matches() && !ANY.equals(method)) {
      throw new InvalidTemplateException(
          number, "the method must be in upper case, or * for any, but is '" + method + "'");
    }
    String path = parts.group(2);
    String violation = Names.violation(path);
    if (violation != null) {
      throw new InvalidTemplateException(number, "the path " + violation);
    }
    return new Template(number, method, path, segments(number, path));
  }

  private static List<String> segments(int number, String path) {
    List<String> raw = List.of(path.substring(1).split("/", -1));
    if (raw.equals(List.of(""))) {
      return List.of();
    }
    List<String> segments = new ArrayList<>();
    for (int i = 0; i < raw.size(); i++) {
      boolean isLast = i == raw.size() - 1;
      segments.add(segment(number, raw.get(i), isLast));
    }
    return segments;
  }

  private static String segment(int number, String raw, boolean isLast) {
    if (PARAMETER.matcher(raw).matches() || (isLast && raw.equals(ANY))) {
      return raw;
    }
    if (SPECIAL.matcher(raw).find()) {
      throw new InvalidTemplateException(
          number,
          "a segment must be {name}, or text without any of { } ; ? # *, or * at the end of "
              + "the path, but is '"
              + raw
              + "'");
    }
    List<String> form = PathForm.segments(bytes(raw));
    if (form.size() != 1) {
      throw new InvalidTemplateException(
          number,
          "a segment must not be empty, '.' or '..', and the path must not end with a " + "slash");
    }
    return form.get(0);
  }

  /** Returns a text with one character for each UTF-8 byte of the given text. */
  private static String bytes(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  private static String shape(List<String> segments) {
    StringBuilder shape = new StringBuilder();
    for (String segment : segments) {
      shape.append('/').append(isParameter(segment) ? "{}" : segment);
    }
    return shape.toString();
  }

  private static boolean isParameter(String segment) {
    return segment.startsWith("{");
  }

  /** Returns the map that must contain the endpoint names of a template. */
  private static Map<String, String> place(Node root, Template template) {
    Node node = root;
    int fixed = template.segments.size() - (template.hasRest() ? 1 : 0);
    for (String segment : template.segments.subList(0, fixed)) {
      if (!isParameter(segment)) {
        node = node.literals.computeIfAbsent(segment, each -> new Node());
      } else {
        if (node.parameter == null) {
          node.parameter = new Node();
        }
        node = node.parameter;
      }
    }
    return template.hasRest() ? node.beyond : node.here;
  }

  private static void addNamed(Template template, Map<String, String> place) {
    if (!ANY.equals(template.method)) {
      place.put(template.method, name(template, template.method));
    }
  }

  private static void addAny(Template template, Map<String, String> place, Set<String> methods) {
    if (ANY.equals(template.method)) {
      place.putIfAbsent(OTHER_METHODS, name(template, OTHER_METHODS));
      for (String method : methods) {
        place.putIfAbsent(method, name(template, method));
      }
    }
  }

  private static String name(Template template, String method) {
    String name = method + ' ' + template.path;
    String violation = Names.violation(name);
    if (violation != null) {
      throw new InvalidTemplateException(template.line, "the endpoint " + violation);
    }
    return name;
  }

  /** Returns the number of templates. */
  public int size() {
    return size;
  }

  /**
   * Returns the name of a call's endpoint: the method and the path of the matching template, or the
   * method and {@value #OTHER_PATHS}.
   *
   * @param method the method as sent; its case does not matter
   * @param target the path and the query as sent; each character represents a byte
   */
  public String endpoint(String method, String target) {
    String upper = method.toUpperCase(Locale.ROOT);
    String known = methods.contains(upper) ? upper : OTHER_METHODS;
    String name = find(root, PathForm.segments(target), 0, known);
    return name == null ? known + ' ' + OTHER_PATHS : name;
  }

  /**
   * Returns the endpoint's name for a path; null if no template matches. Visits each node of the
   * tree at most once.
   */
  private static @Nullable String find(Node node, List<String> path, int next, String method) {
    if (next == path.size()) {
      return node.here.get(method);
    }
    Node literal = node.literals.get(path.get(next));
    String name = literal == null ? null : find(literal, path, next + 1, method);
    if (name == null && node.parameter != null) {
      name = find(node.parameter, path, next + 1, method);
    }
    return name == null ? node.beyond.get(method) : name;
  }

  /** Returns the number of templates, as text. */
  @Override
  public String toString() {
    return size + " templates";
  }
}

// SPDX-License-Identifier: Apache-2.0
/**
 * Weir for Spring Boot applications: auto-configuration, a servlet filter, and a rate limiter for
 * Spring Cloud Gateway. The package depends on {@code weir-client} and Spring. Spring loads the
 * classes for servlets and for the gateway only if the application has these libraries.
 */
@NullMarked
package io.weir.spring;

import org.jspecify.annotations.NullMarked;

import { json, NOTHING } from './answer.ts'
import type { Registrations } from './registrations.ts'
import type { Routes } from './route.ts'

/** What clients register, renew and end. */
export const registrationRoutes = (registrations: Registrations): Routes => ({
  '/v1/registrations': {
    GET: { access: 'read', answer: () => json({ registrations: registrations.list() }) },
  },
  '/v1/registrations/:id': {
    GET: { access: 'read', answer: ({ parameter }) => json(registrations.get(parameter)) },
    PUT: {
      access: 'write',
      answer: async ({ parameter, body }) => {
        const { created, view } = registrations.put(parameter, await body())
        return json(view, created ? 201 : 200)
      },
    },
    DELETE: {
      access: 'write',
      answer: ({ parameter }) => {
        registrations.remove(parameter)
        return NOTHING
      },
    },
  },
  '/v1/registrations/:id/renew': {
    POST: {
      access: 'write',
      answer: async ({ parameter, body }) => json(registrations.renew(parameter, await body())),
    },
  },
  '/v1/registrations/:id/drain': {
    POST: {
      access: 'write',
      answer: async ({ parameter, body }) => json(registrations.drain(parameter, await body()), 202),
    },
  },
})
